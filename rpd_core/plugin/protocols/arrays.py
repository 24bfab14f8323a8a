"""Names for the arrays that pass between components: types for checkers, and light at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    BoolArray = NDArray[np.bool_]
    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]
    KeyArray = NDArray[np.uint64]
    Batch = Array | dict[str, Array]
else:
    Array = BoolArray = IntArray = FloatArray = KeyArray = Batch = object
