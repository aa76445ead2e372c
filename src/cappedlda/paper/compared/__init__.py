"""The methods that the paper compares with: LDA, RDA, RLDA, LDA-L1, L2BLDA and L1BLDA.

They follow the published objectives. Where a published algorithm fails, a sound one for
the same objective stands beside it, and the docstring says which is which.
"""

from cappedlda.paper.compared._closed_form import L2BLDA, LDA, RDA
from cappedlda.paper.compared._l1blda import L1BLDA
from cappedlda.paper.compared._ldal1 import LDAL1
from cappedlda.paper.compared._rlda import RLDA

__all__ = ["LDA", "RDA", "RLDA", "LDAL1", "L2BLDA", "L1BLDA"]
