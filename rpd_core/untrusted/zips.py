"""Zip files from strangers: sizes are checked before anything is unpacked."""

from __future__ import annotations

import zipfile
from typing import Any, BinaryIO

from rpd_core.untrusted.boundary import Budget, Flaw, printable

_PIECE = 2**20
_LONGEST_READ = 2**22
"""Bytes of a single read, the table of contents included: room for some 40,000 members."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class _ShortReads:
    """A file that refuses to read much at once: zipfile reads a table of contents as a whole."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        found = self.stream.read(_LONGEST_READ + 1 if size < 0 else min(size, _LONGEST_READ + 1))
        if len(found) > _LONGEST_READ:
            raise zipfile.BadZipFile("its table of contents is too long")
        return found

    def close(self) -> None:
        self.stream.close()


class BoundedZip:
    """A zip whose members are unpacked piece by piece, all of them within a budget."""

    def __init__(self, stream: BinaryIO, budget: Budget) -> None:
        reader: Any = _ShortReads(stream)
        self._zip = zipfile.ZipFile(reader)
        listed = self._zip.namelist()
        self.names = dict.fromkeys(listed)  # the members in the order of the table of contents
        if len(self.names) != len(listed):
            raise Flaw("it holds two members of one name: refused, save it again")
        self.budget = budget

    def size(self, *names: str) -> int:
        """Return the size that the table of contents declares for members, or for all of them."""
        return sum(self._zip.getinfo(name).file_size for name in names or self.names)

    def read(self, name: str, most: int | None = None) -> bytes:
        info, shown = self._zip.getinfo(name), printable(name, 100)
        most = self.budget.bytes if most is None else min(most, self.budget.bytes)
        if info.flag_bits & 1:
            raise Flaw(f"{shown!r} in it has a password: save it without one")
        if info.compress_type not in _METHODS:  # zipfile unpacks the others without any bound
            raise Flaw(f"{shown!r} in it is packed in a way that is not read: save it again")
        if info.file_size > most:
            raise Flaw(
                f"{shown!r} in it unpacks to {info.file_size:,} bytes, more than {most:,}: refused"
            )
        self.budget.take_bytes(info.file_size, repr(shown))
        content = bytearray()
        with self._zip.open(info) as stream:
            while piece := stream.read(_PIECE):
                self.budget.check_time()
                content += piece
        if len(content) != info.file_size:
            raise zipfile.BadZipFile(f"{shown!r} is shorter than it says")
        return bytes(content)
