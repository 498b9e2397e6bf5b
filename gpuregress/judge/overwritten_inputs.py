"""Overwritten inputs: buffers that a kernel must not change and did, as by casting const away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.numeric import decimals
from gpuregress.foundation.records import (
    Buffer,
    Case,
    Comparison,
    Element,
    Outcome,
    OverwrittenInput,
    Parameter,
    Program,
)
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    from gpuregress.virtual_gpu.buffer_accesses import Accesses

RULE = "every bit of the fill"


class BufferUse(Record):
    """Use of a buffer as an argument: the launch, counted from 1, its kernel and source, the argument's position."""

    launch: int
    kernel: str
    source: int
    argument: int
    in_struct: bool


def comparisons(case: Case, programs: Sequence[Program], outcome: Outcome) -> dict[str, Comparison]:
    """Find the inputs that should still hold their fill, and do not.

    Args:
        case: what was run.
        programs: its compiled sources.
        outcome: of a case that ran to its end.

    Returns:
        Buffer → a comparison that fails.
    """
    changed = outcome.observations.writes.overwritten
    if not changed or not programs:
        return {}
    uses = uses_of(case)
    compared = {}
    for name, change in changed.items():
        why = _forbidden(case, programs, case.buffers[name], uses.get(name, []))
        if why:
            compared[name] = _comparison(case.buffers[name], change, why)
    return compared


def _comparison(buffer: Buffer, change: OverwrittenInput, why: str) -> Comparison:
    element = _element(buffer, change)
    message = (
        f"{change.elements} of {change.of} elements of this input were overwritten, the first {element.place}: "
        f"{element.actual}, was {element.expected}; {why}"
    )
    return Comparison(
        buffer.name,
        "inputs",
        RULE,
        same=False,
        identical=False,
        of=change.of,
        differing=change.elements,
        changed=change.elements,
        worst=element,
        first=(element,),
        message=message,
    )


def _element(buffer: Buffer, change: OverwrittenInput) -> Element:
    """The first changed part of the first changed element, as a dump writes it."""
    kind = dtypes.parse(buffer.dtype)
    before = kind.columns(np.frombuffer(bytes.fromhex(change.expected), kind.storage))
    after = kind.columns(np.frombuffer(bytes.fromhex(change.actual), kind.storage))
    changed = [number for number in range(len(before)) if before[number].tobytes() != after[number].tobytes()]
    number = min(changed, default=0)
    part = kind.parts[number]
    expected = decimals.word(before[number], 0, part.scalar)
    actual = decimals.word(after[number], 0, part.scalar)
    return Element(change.first, part.name, expected, actual)


# --- what is forbidden ------------------------------------------------------------------------------------------------


def _forbidden(case: Case, programs: Sequence[Program], buffer: Buffer, uses: Sequence[BufferUse]) -> str:
    """Describe why a buffer must not change; "" if it may."""
    is_result = buffer.name in case.dump
    if case.settings.inputs == "unchanged" and not is_result:
        return f"the job says `inputs: unchanged` ({_named(uses)})"
    if buffer.texture is not None and not buffer.texture.surface:
        return f"kernels are given it as a texture ({_named(uses)})"
    if uses and buffer.symbol is None and all(_is_const(programs, use) for use in uses):
        return f"its parameter is a pointer to const ({_named(uses)})"
    if not is_result and _is_never_stored_to(case, programs, buffer, uses):
        return f"no kernel stores through a pointer to it ({_named(uses)})"
    return ""


def _is_const(programs: Sequence[Program], use: BufferUse) -> bool:
    parameter = parameter_of(programs, use)
    return parameter is not None and not use.in_struct and parameter.const


def _is_never_stored_to(case: Case, programs: Sequence[Program], buffer: Buffer, uses: Sequence[BufferUse]) -> bool:
    """Whether no kernel's PTX stores to a buffer."""
    kernels = dict.fromkeys((launch.source, launch.kernel) for launch in case.launches)
    by_kernel = {
        (at, kernel): kernel_accesses(programs[at].ptx, programs[at].entries[kernel].mangled) for at, kernel in kernels
    }
    if any(one is None or one.writes_anywhere for one in by_kernel.values()):
        return False
    if buffer.symbol is not None:
        name = programs[buffer.symbol_source].symbols.get(buffer.symbol, buffer.symbol)
        own = [one for (at, _), one in by_kernel.items() if at == buffer.symbol_source]
        return not any(one is not None and name in one.written for one in own)
    for use in uses:
        accesses, parameter = by_kernel[use.source, use.kernel], parameter_of(programs, use)
        if accesses is None or parameter is None:
            return False
        if accesses.of_parameter(use.argument, parameter.size, accesses.written):
            return False
    return True


def parameter_of(programs: Sequence[Program], use: BufferUse) -> Parameter | None:
    """The kernel's parameter that takes the argument of a use; None where it has too few."""
    parameters = programs[use.source].entries[use.kernel].parameters
    return parameters[use.argument] if use.argument < len(parameters) else None


@lru_cache(maxsize=64)
def kernel_accesses(ptx: str, kernel: str) -> Accesses | None:
    """Return the buffer accesses of a kernel; None if unknown.

    Args:
        ptx: the path of the PTX file, "" without one.
        kernel: the mangled name.
    """
    from gpuregress.virtual_gpu import buffer_accesses  # noqa: PLC0415 - the parser of PTX; few inputs change

    if not ptx:
        return None
    try:
        return buffer_accesses.of_kernel(storage.read_bytes(Path(ptx)).decode(errors="replace"), kernel)
    except (GpuregressError, KeyError):
        return None


# --- uses of a buffer -------------------------------------------------------------------------------------------------


def uses_of(case: Case) -> dict[str, list[BufferUse]]:
    """The uses of each buffer's memory, by its name before the first launch: swaps are followed."""
    holds = {name: name for name in case.buffers}
    uses: dict[str, list[BufferUse]] = {}
    for number, launch in enumerate(case.launches, 1):
        for position, argument in enumerate(launch.args):
            for name in argument.buffers:
                use = BufferUse(number, launch.kernel, launch.source, position, in_struct=argument.kind == "struct")
                uses.setdefault(holds[name], []).append(use)
        for first, second in launch.swap:
            holds[first], holds[second] = holds[second], holds[first]
    return uses


def _named(uses: Sequence[BufferUse]) -> str:
    if not uses:
        return "no launch is given it"
    return first_names([f"launch {use.launch}: {use.kernel}" for use in uses])
