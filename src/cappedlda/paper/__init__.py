"""All of the paper: its Algorithm 1, its norm, the methods it compares with, its data and tables.

J. Liu, X. Xiong, P.-W. Ren, D. Zhao, C.-N. Li, Y.-H. Shao, "Capped norm linear discriminant
analysis and its applications", Applied Intelligence, 2022.

- `CLDA`: Algorithm 1 as published
- `capped_norm`: equation (2), for any p and q
- `compared`: the other methods of its tables
- `datasets`: its data
- `experiments`: its tables and figures, run again
"""

from cappedlda.paper import compared, datasets, experiments
from cappedlda.paper._clda import CLDA
from cappedlda.paper._norm import capped_norm

__all__ = ["CLDA", "capped_norm", "compared", "datasets", "experiments"]
