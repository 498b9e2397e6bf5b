"""Memory accesses of a kernel that the dynamic checks cannot watch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.ptx.tree import Function, Instruction
from gpuregress.devices.cpu.runtime.bulk.forms import form_of
from gpuregress.devices.cpu.runtime.checks.unwatched import CLOCKS, REMOTE


def unwatched(functions: Iterable[Function]) -> tuple[str, ...]:
    """What a kernel accesses unwatched, in words.

    Args:
        functions: the kernel, and those that it calls.
    """
    items = (item for function in functions for item in function.body or () if isinstance(item, Instruction))
    return tuple(sorted({text for item in items for text in _of(item)}))


def _of(instruction: Instruction) -> Iterator[str]:
    opcode, words = instruction.opcode, instruction.modifiers
    if opcode == "activemask" or any("clock" in name or "timer" in name for name in effects.reads(instruction)):
        yield CLOCKS
    if (opcode in ("st", "red") and "async" in words) or (opcode == "cp" and _is_remote(words)):
        yield REMOTE


def _is_remote(words: tuple[str, ...]) -> bool:
    """Whether a copy may go to the shared memory of other blocks."""
    form = form_of(words)
    return form is not None and form.target == "shared" and (form.multicast or form.source == "shared")
