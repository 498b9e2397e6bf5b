"""The dump of a buffer: its file, its type and its digests."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import field

from gpuregress.gpu.records import Sparse


class Dump(Sparse):
    """A buffer's contents as a file.

    Attributes:
        buffer: its name.
        path: absolute.
        dtype: the element type's name.
        shape: elements along each axis.
        digest: xxh3-128 of the raw bytes (padding zeroed), hexadecimal.
        text_digest: xxh3-128 of the text.
        remote: the address of an accepted dump that is not in the repository; then `path` is that of its local copy,
            which may have to be fetched. "": the file is at `path`.
    """

    buffer: str
    path: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    text_digest: str
    remote: str = ""

    @property
    def count(self) -> int:
        """Elements in the buffer."""
        return math.prod(self.shape)


class ScheduleRun(Sparse):
    """The results of a case under a further schedule.

    Attributes:
        name: of the schedule.
        digests: dumped buffer → digest of its bytes.
        dumps: dumped buffer → its dump, where it is not the first run's.
        fault: what went wrong under this schedule only, "" if nothing did.
        switches: dumped buffer → the smallest change of the order that is known to be enough for it to differ; ""
            stands for the fault.
        replays: likewise, the name of the schedule with that change alone.
        accesses: likewise, those that may be responsible, in words.
        left_out: why the case did not run under it, "" if it did.
    """

    name: str
    digests: Mapping[str, str] = field(default_factory=dict)
    dumps: Mapping[str, Dump] = field(default_factory=dict)
    fault: str = ""
    switches: Mapping[str, str] = field(default_factory=dict)
    replays: Mapping[str, str] = field(default_factory=dict)
    accesses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: str = ""
