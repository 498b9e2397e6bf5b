"""What a difference looks like: the diagnosis is asked once something differs, with all that is known around it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import diagnose, dtypes, inputs
from gpuregress.compare import bounds
from gpuregress.compare.bound import Bound
from gpuregress.diagnose import Evidence
from gpuregress.dump import reader
from gpuregress.errors import GpuregressError
from gpuregress.pipeline.pairs import Pair
from gpuregress.records import Case, Comparison, Launch, Outcome

Array = npt.NDArray[np.generic]
_WHOLE = 1 << 22
"""Elements up to which whole buffers and inputs are read for the diagnosis."""


def explain(pair: Pair, comparison: Comparison, outcome: Outcome) -> Comparison:
    """The comparison with its findings, the strongest first; unchanged where nothing differs in place.

    Args:
        pair: the two dumps.
        comparison: what came of comparing them.
        outcome: what the worker said of the run that wrote the newer one.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    rule = pair.request.rule
    in_place = rule.order == "indexed" and not (rule.key or rule.statistics or rule.verify)
    if comparison.same or not in_place or (pair.now.dtype, pair.now.shape) != (pair.then.dtype, pair.then.shape):
        return comparison
    evidence = _evidence(pair, outcome)
    if not evidence.count:
        return comparison
    found, numbers = diagnose.diagnose(evidence), dict(comparison.numbers)
    # An element that no thread wrote may be one that the launch has no thread for.
    is_guess = evidence.layout is not None and evidence.layout.kind == "stretch"
    has_thread = not (is_guess and any(finding.pattern == "never written" for finding in found))
    if comparison.worst is not None and evidence.launch is not None and has_thread:
        numbers["place"] = diagnose.place_of(comparison.worst.index, evidence.launch, evidence.shape)
    return dataclasses.replace(comparison, findings=found, numbers=numbers)


_CPU_SHARED = b"\xff"
"""What the CPU device fills shared memory with before each block (docs/cpu-device.md); a GPU leaves what was there."""


def _evidence(pair: Pair, outcome: Outcome) -> Evidence:
    request, case = pair.request, pair.case
    found = pair.differences()
    first, second = found.first, found.second
    broken = np.zeros(len(found.indices), np.bool_)
    columns = zip(request.element_type.columns(first), request.element_type.columns(second), strict=True)
    for part, (expected, actual) in zip(request.element_type.parts, columns, strict=True):
        broken |= bounds.broken(expected, actual, part.scalar, Bound.of_rule(request.rule))
    indices = found.indices[broken]
    whole = _whole(pair) if request.total <= _WHOLE else {}
    return Evidence(
        request.element_type,
        request.shape,
        indices,
        first[broken],
        second[broken],
        launch=_writer(case, pair.now.buffer),
        poison=_poison(pair, outcome),
        unset=_CPU_SHARED if outcome.device is not None and outcome.device.name == "cpu" else b"",
        inputs=_inputs(case),
        **whole,
    )


def _whole(pair: Pair) -> dict[str, Array]:
    both = {"whole_expected": pair.then_path, "whole_actual": pair.now_path}
    return {name: pair.loaded(path).array.reshape(-1) for name, path in both.items()}


def _poison(pair: Pair, outcome: Outcome) -> bytes:
    buffer = pair.case.buffers.get(pair.now.buffer)
    if buffer is None or buffer.fill is not None or buffer.symbol is not None:
        return b""
    return bytes.fromhex(outcome.extra.get("poison", ""))


def _writer(case: Case, buffer: str) -> Launch | None:
    """The last launch that takes the buffer."""
    taking = (one for one in reversed(case.launches) if any(item.buffer == buffer for item in one.args))
    return next(taking, None)


def _inputs(case: Case) -> Mapping[str, Array]:
    """The inputs as numbers, flat: those small enough, and not those that only the user's code can make."""
    found: dict[str, Any] = {}
    for name, buffer in case.buffers.items():
        element = dtypes.parse(buffer.dtype)
        is_easy = buffer.fill is not None and buffer.fill.kind != "python" and math.prod(buffer.shape) <= _WHOLE
        if not is_easy or len(element.parts) != 1:
            continue
        try:
            array = inputs.fill(buffer, read_dump=reader.read)
        except GpuregressError:
            continue  # a file that is gone since: the findings do without it
        found[name] = dtypes.to_float(element.columns(array.reshape(-1))[0], element.parts[0].scalar)
    return found
