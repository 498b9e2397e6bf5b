"""Remarks on atomic operations on a case's results, where there is no baseline yet.

The sum of floats depends on the order in which they are added, and a GPU fixes none for atomic operations. The CPU
device always adds in the same order, so an exact comparison passes there. Integers, minima and maxima do not depend on
it. A compare-and-swap loop is not understood: it may do anything.

An atomic operation also reads what was there before. An output without a fill holds the poison then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Buffer, Case, Program, Rule
from gpuregress.gpu.records import replace
from gpuregress.judge.overwritten_inputs import BufferUse, kernel_accesses, parameter_of, uses_of

if TYPE_CHECKING:
    from gpuregress.virtual_gpu.buffer_accesses import Accesses


def remarks(case: Case, programs: Sequence[Program]) -> tuple[str, ...]:
    """The remarks on a case, one line for each buffer.

    Args:
        case: what was run.
        programs: its compiled sources.
    """
    if case.expect_fault is not None or not any(_has_atomics(program.ptx) for program in programs):
        return ()
    lines: list[str] = []
    for name, uses in uses_of(case).items():
        buffer = case.buffers[name]
        if buffer.symbol is None and buffer.texture is None:
            # A launch that is repeated is looked at once.
            distinct = {(use.source, use.kernel, use.argument): use for use in reversed(uses)}
            first_uses = sorted(distinct.values(), key=lambda use: use.launch)
            lines += _of_contents(buffer, programs, first_uses)
            lines += _of_order(case, buffer, programs, first_uses)
    return tuple(lines)


_ATOMIC = re.compile(rb"(?<![\w.])(?:(?:atom|red)\.(?!\S*shared)|cp\.reduce\.)")


@lru_cache(maxsize=64)
def _has_atomics(ptx: str) -> bool:
    """Whether a PTX file has atomic operations on global memory; without any, it is not analysed."""
    try:
        return bool(ptx) and _ATOMIC.search(storage.read_bytes(Path(ptx))) is not None
    except StorageError:
        return False


def _of_contents(buffer: Buffer, programs: Sequence[Program], uses: Sequence[BufferUse]) -> Iterator[str]:
    """Say that a buffer without a fill is updated before any launch may have written it."""
    if buffer.fill is not None:
        return
    for use in uses:
        accesses = _accesses(programs, use)
        if accesses is None or accesses.writes_anywhere or _is_among(accesses.stored, accesses, programs, use):
            return
        if _is_among(accesses.combined, accesses, programs, use):
            yield (
                f"{buffer.name}: {use.kernel} updates it by atomic operations, and nothing fills it before: "
                f"the result is made of what was there; write `fill: zeros` for {buffer.name}, and "
                f"`dump: [{buffer.name}]` if no other key names it"
            )
            return


def _of_order(case: Case, buffer: Buffer, programs: Sequence[Program], uses: Sequence[BufferUse]) -> Iterator[str]:
    """Say that a result which must be equal in every bit is a sum of floats in no fixed order."""
    rule = case.compare.get(buffer.name)
    if buffer.name not in case.dump or len(case.settings.schedules) > 1 or not _is_exact(rule or Rule()):
        return
    for use in uses:
        accesses = _accesses(programs, use)
        if accesses is not None and _is_among(accesses.float_sums, accesses, programs, use):
            yield (
                f"{buffer.name}: {use.kernel} adds floats to it by atomic operations, in no fixed order on a GPU: the "
                f"last bits may change from run to run, and {buffer.name} is compared exactly; write a tolerance, "
                f"such as `compare: {{{buffer.name}: {{rtol: 1e-5}}}}` (`gpuregress calibrate` measures one), or "
                "`schedules: 4` to see how much the order matters"
            )
            return


def _is_exact(rule: Rule) -> bool:
    """Whether a rule wants every number as it was; how it takes NaN and zeros does not matter."""
    return replace(rule, nan="equal", signed_zero="distinct").is_exact


def _accesses(programs: Sequence[Program], use: BufferUse) -> Accesses | None:
    """What the kernel of a use does to memory; None where that is not known."""
    entry = programs[use.source].entries.get(use.kernel)
    if entry is None or use.in_struct:  # which of its pointers is meant is not known
        return None
    return kernel_accesses(programs[use.source].ptx, entry.mangled)


def _is_among(bases: set[int | str], accesses: Accesses, programs: Sequence[Program], use: BufferUse) -> bool:
    """Whether the argument of a use is one of some base pointers."""
    parameter = parameter_of(programs, use)
    return parameter is not None and accesses.of_parameter(use.argument, parameter.size, bases)
