"""An access to memory as its check is built."""

from __future__ import annotations

from gpuregress.gpu.records import Record

READ, WRITE = "read", "write"


class CellAccess(Record):
    """What is known of an access when its check is built.

    Attributes:
        action: `READ`, `WRITE`; an atomic operation is a strong `WRITE`.
        is_strong: whether it is atomic, volatile or ordered.
        reads: whether it also reads what it writes.
        count: bytes.
        is_incoherent: whether it reads through a cache that sees no writes of its launch.
    """

    action: str
    is_strong: bool
    reads: bool
    count: int
    is_incoherent: bool = False

    def name(self, space: str) -> str:
        """The name of the subroutine for a state space."""
        words = [self.action, space or "generic", str(self.count)]
        flags = (("strong", self.is_strong), ("reading", self.reads), ("incoherent", self.is_incoherent))
        return ".".join(["check", *words, *(flag for flag, holds in flags if holds)])
