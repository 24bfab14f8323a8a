"""Tensors made of the raw bytes in a file, after everything said about them was checked."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from rpd_torchscript.limits import NUMBERS
from rpd_torchscript.pickles import BadPickle, StorageNote, TensorNote

_TYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
_AXES = 16


class TensorShelf:
    """Builds tensors from the members of one folder; tensors that share bytes go on sharing."""

    def __init__(self, folder: str, members: Mapping[str, bytes]) -> None:
        self.folder, self.members = folder, members
        self.storages: dict[str, tuple[StorageNote, Tensor]] = {}

    def tensor(self, note: TensorNote) -> Tensor:
        """Return the tensor of a description that lies inside its bytes."""
        flat = self._storage(note.storage)
        _check_extent(note, len(flat))
        return flat.as_strided(note.sizes, note.strides, note.offset)

    def _storage(self, note: StorageNote) -> Tensor:
        if note.key not in self.storages:
            self.storages[note.key] = note, self._read(note)
        first, flat = self.storages[note.key]
        if first.kind != note.kind or first.count != note.count:
            raise BadPickle(f"storage {note.key[:20]!r} is described in two ways")
        return flat

    def _read(self, note: StorageNote) -> Tensor:
        dtype = _TYPES.get(note.kind)
        if dtype is None:
            raise BadPickle(f"numbers of {note.kind[:50]!r} are not read")
        raw = self.members.get(f"{self.folder}/{note.key}", b"")
        if not 0 <= note.count * dtype.itemsize <= len(raw):
            raise BadPickle(
                f"it describes a storage of {note.count} numbers in {len(raw)} bytes, which is "
                "more than it holds"
            )
        if note.count == 0:
            return torch.empty(0, dtype=dtype)
        if dtype == torch.bool:  # other bytes than 0 and 1 are no truth values
            return torch.frombuffer(bytearray(raw), dtype=torch.uint8, count=note.count) != 0
        return torch.frombuffer(bytearray(raw), dtype=dtype, count=note.count).clone()


def _check_extent(note: TensorNote, held: int) -> None:
    sizes, strides = note.sizes, note.strides
    if len(sizes) != len(strides) or len(sizes) > _AXES:
        raise BadPickle(f"a tensor has {len(sizes)} sizes and {len(strides)} strides")
    if note.offset < 0 or min([0, *sizes, *strides]) < 0:
        raise BadPickle(f"a tensor of size {sizes} starts at {note.offset} with strides {strides}")
    count, last = 1, note.offset
    for size, stride in zip(sizes, strides, strict=True):
        count *= size
        last += (size - 1) * stride
    if count > NUMBERS:
        raise BadPickle(f"a tensor of {count} numbers is too large")
    if (count and last >= held) or (not count and note.offset > held):
        raise BadPickle(
            f"it describes a tensor up to number {last} of {held}, which is more than it holds"
        )
    if not count and max([0, *sizes, *strides]) > NUMBERS:
        raise BadPickle(f"a tensor of size {sizes} is too large")


def unusual_values(tensor: Tensor, is_weight: bool) -> str | None:
    """Return 'NaN' or 'infinite values' if a tensor holds such; masks of 0 and -inf may."""
    if not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()):
        return None
    if bool(torch.isnan(tensor).any()):
        return "NaN"
    is_mask = bool(((tensor == 0) | (tensor == -torch.inf)).all())
    return None if is_mask and not is_weight else "infinite values"
