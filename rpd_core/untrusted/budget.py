"""What reading one file may use: the one place that bounds every reader of strangers' bytes."""

from __future__ import annotations

from dataclasses import dataclass

from rpd_core.untrusted.boundary import Flaw

OPERATIONS = 1_000_000
"""Operations that pickles may take in all; the largest networks need some ten thousand."""


@dataclass
class Budget:
    """What is left for the rest of a file; it is made where a file is opened and handed on."""

    bytes: int
    """Bytes that may still be read or unpacked."""
    operations: int = OPERATIONS
    """Operations that may still be done."""

    def take_bytes(self, count: int, what: str) -> None:
        """Count bytes before they are read."""
        if count > self.bytes:
            raise Flaw(f"{what} takes {count:,} bytes, more than {self.bytes:,}: refused")
        self.bytes -= count

    def take_operations(self, count: int = 1) -> None:
        """Count operations before they are done."""
        self.operations -= count
        if self.operations < 0:
            raise Flaw("it takes more steps to read than any policy needs: refused")
