"""Arrays in an .npz file, read within the bytes that are really there."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rpd_core.untrusted.boundary import Flaw, printable
from rpd_core.untrusted.zips import BoundedZip

_LARGEST = 2**26
"""Bytes of all arrays together."""
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_arrays(raw: bytes, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return those of the named arrays that the bytes of an .npz file hold."""
    zipped = BoundedZip(io.BytesIO(raw), _LARGEST)
    wanted = [name for name in names if f"{name}.npy" in zipped.names]
    return {name: _array(name, zipped.read(f"{name}.npy", _LARGEST)) for name in wanted}


def _array(name: str, raw: bytes) -> NDArray[Any]:
    """Read one array; NumPy itself makes room for any shape that a header claims."""
    stream = io.BytesIO(raw)
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise Flaw(f"the array {name!r} in it has format {version}, which is not read")
    shape, fortran, dtype = _HEADERS[version](stream)
    if dtype.kind not in "biuf":
        kind = printable(str(dtype), 40)
        raise Flaw(f"the array {name!r} in it is of type {kind!r}; only numbers are read")
    content = raw[stream.tell() :]
    if not all(size >= 0 for size in shape) or len(content) != math.prod(shape) * dtype.itemsize:
        raise Flaw(
            f"the array {name!r} in it is of shape {printable(str(shape), 80)}, but "
            f"{len(content):,} bytes are stored for it: it is damaged, copy it again"
        )
    flat = np.frombuffer(content, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
