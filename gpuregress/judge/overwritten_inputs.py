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
from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    from gpuregress.virtual_gpu.buffer_accesses import Accesses

RULE = "every bit of the fill"
MOST_NAMED = 3


class _Use(Record):
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
    uses = _uses(case)
    compared = {}
    for name, change in changed.items():
        why = _forbidden(case, programs, case.buffers[name], uses.get(name, []))
        if why:
            compared[name] = _comparison(case.buffers[name], change, why)
    return compared


def _comparison(buffer: Buffer, change: OverwrittenInput, why: str) -> Comparison:
    element = _element(buffer, change)
    where = f"[{element.index}]{'.' + element.part if element.part else ''}"
    message = (
        f"{change.elements} of {change.of} elements of this input were overwritten, the first {where}: "
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
    sides = (np.frombuffer(bytes.fromhex(side), kind.storage) for side in (change.expected, change.actual))
    columns = list(zip(kind.parts, *map(kind.columns, sides), strict=True))
    part, *changed = next((row for row in columns if row[1].tobytes() != row[2].tobytes()), columns[0])
    expected, actual = (decimals.word(column, 0, part.scalar) for column in changed)
    return Element(change.first, part.name, expected, actual)


# --- what is forbidden ------------------------------------------------------------------------------------------------


def _forbidden(case: Case, programs: Sequence[Program], buffer: Buffer, uses: Sequence[_Use]) -> str:
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


def _is_const(programs: Sequence[Program], use: _Use) -> bool:
    parameter = _parameter(programs, use)
    return parameter is not None and not use.in_struct and parameter.const


def _is_never_stored_to(case: Case, programs: Sequence[Program], buffer: Buffer, uses: Sequence[_Use]) -> bool:
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
        accesses, parameter = by_kernel[use.source, use.kernel], _parameter(programs, use)
        if accesses is None or parameter is None:
            return False
        if accesses.of_parameter(use.argument, parameter.size, accesses.written):
            return False
    return True


def _parameter(programs: Sequence[Program], use: _Use) -> Parameter | None:
    parameters = programs[use.source].entries[use.kernel].parameters
    return parameters[use.argument] if use.argument < len(parameters) else None


@lru_cache(maxsize=64)
def kernel_accesses(ptx: str, kernel: str) -> Accesses | None:
    """Return the buffer accesses of a kernel; None if unknown.

    Args:
        ptx: the path of the PTX file, "" without one.
        kernel: the mangled name.
    """
    from gpuregress.virtual_gpu import buffer_accesses  # noqa: PLC0415 - loads LLVM's bindings, and few inputs change

    if not ptx:
        return None
    try:
        return buffer_accesses.of_kernel(storage.read_bytes(Path(ptx)).decode(errors="replace"), kernel)
    except (GpuregressError, KeyError):
        return None


# --- uses of a buffer -------------------------------------------------------------------------------------------------


def _uses(case: Case) -> dict[str, list[_Use]]:
    """The uses of each buffer's memory, by its name before the first launch: swaps are followed."""
    holds = {name: name for name in case.buffers}
    uses: dict[str, list[_Use]] = {}
    for number, launch in enumerate(case.launches, 1):
        for position, argument in enumerate(launch.args):
            for name in argument.buffers:
                use = _Use(number, launch.kernel, launch.source, position, in_struct=argument.kind == "struct")
                uses.setdefault(holds[name], []).append(use)
        for first, second in launch.swap:
            holds[first], holds[second] = holds[second], holds[first]
    return uses


def _named(uses: Sequence[_Use]) -> str:
    if not uses:
        return "no launch is given it"
    shown = [f"launch {use.launch}: {use.kernel}" for use in uses]
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more
