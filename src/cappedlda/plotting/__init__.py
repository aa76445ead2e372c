"""Pictures of fitted discriminants, in scikit-learn's Display convention.

Each class has `from_estimator`, which computes and draws, and `plot(ax=None)`, which draws again.
Both return the display, with the axes (`ax_`), the figure (`figure_`) and the artists. Estimators
may be pipelines that end with a discriminant. Matplotlib is imported only when something is drawn;
install it with ``pip install "cappedlda[plot]"``.
"""

from cappedlda.plotting._cell_map import CellMapDisplay
from cappedlda.plotting._convergence import ConvergenceDisplay
from cappedlda.plotting._distances import DistanceDisplay, DistanceDistanceDisplay
from cappedlda.plotting._images import ImageDisplay
from cappedlda.plotting._labels import LabelsDisplay
from cappedlda.plotting._loadings import LoadingsDisplay
from cappedlda.plotting._path import EpsilonPathDisplay
from cappedlda.plotting._projection import ProjectionDisplay

__all__ = [
    "CellMapDisplay",
    "ConvergenceDisplay",
    "DistanceDisplay",
    "DistanceDistanceDisplay",
    "EpsilonPathDisplay",
    "ImageDisplay",
    "LabelsDisplay",
    "LoadingsDisplay",
    "ProjectionDisplay",
]
