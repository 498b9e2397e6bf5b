"""The dump of a buffer: its file, its type and its digests; and the digests after each launch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.gpu.records import Record, Sparse


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


# --- launch digests ---------------------------------------------------------------------------------------------------
# Digests of a case's buffers after its launches, from which the first wrong launch is found.

DIGITS = 16
"""Hexadecimal digits of the dump's digest that are kept: 64 bits tell two contents of one buffer apart."""


class LaunchDigests(Sparse):
    """Digests of the buffers that launches may have written.

    A buffer's memory is called as the buffer was before the first launch: launches may exchange buffers.

    Attributes:
        launches: the case's, repeats written out.
        after: number of a launch, from 1 → memory → digest of its bytes then. A memory without an entry was not
            written since the entry before. Number 0 has variables with initial values.
    """

    launches: int
    after: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class FirstWrong(Record):
    """The launch after which an element first differed from what is expected.

    Attributes:
        launch: the entry of the job's `launches`, from 1.
        number: the launch among all of the case, repeats written out, from 1.
        step: of a repeated entry, from 0; None for others.
        kernel: its C++ name.
        source: the name of its source file.
        buffer: the buffer that first differed.
        decided_by: `rule`: the difference breaks the buffer's rule; `bits`: it is known to be one of bits only.
        among: launches that it is one of, the named one being the last; 1 where it is known.
        inputs: what is known of its inputs, in words.
        message: all of it in one line.
    """

    launch: int
    number: int
    step: int | None
    kernel: str
    source: str
    buffer: str
    decided_by: Literal["rule", "bits"]
    among: int
    inputs: str
    message: str
