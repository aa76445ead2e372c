"""Names for what the public interface takes and gives."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ArrayLike", "Bools", "Floats", "Labels", "MatrixLike", "RandomState"]


class RowsLike(Protocol):
    """Anything with a shape that rows can be read from: frames, memory maps, sparse arrays."""

    @property
    def shape(self) -> Any: ...


MatrixLike: TypeAlias = ArrayLike | RowsLike
Floats: TypeAlias = NDArray[np.floating[Any]]
Bools: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
