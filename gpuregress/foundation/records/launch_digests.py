"""Digests of a case's buffers after its launches, from which the first wrong launch is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.gpu.records import Record, Sparse

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
