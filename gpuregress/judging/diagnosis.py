"""What a difference looks like: the diagnosis is asked once something differs, with all that is known around it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import diagnose, dtypes, inputs
from gpuregress.diagnose import Evidence, Sample
from gpuregress.dump import reader
from gpuregress.dump.line_diff import Piece
from gpuregress.errors import GpuregressError
from gpuregress.judging import error_map
from gpuregress.judging.buffer_pairs import Pair
from gpuregress.ordinals import Mask
from gpuregress.records import Case, Comparison, Launch, Outcome

Array = npt.NDArray[np.generic]
_WHOLE = 1 << 22
"""Elements up to which whole buffers and inputs are read for the diagnosis."""


def compare(pair: Pair, outcome: Outcome, width: int = error_map.PAGE) -> Comparison:
    """The comparison of a pair, with its findings and its picture where it fails.

    Args:
        pair: the two dumps.
        outcome: what the worker said of the run that wrote the newer one.
        width: of the picture, in bins.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    diagnosis, picture = Diagnosis(pair, outcome), error_map.Picture(pair, width)
    return picture.added_to(diagnosis.added_to(pair.compare(diagnosis, picture)))


class Diagnosis:
    """Gathers what breaks a pair's rule while it is compared, and says what it looks like.

    Args:
        pair: the two dumps.
        outcome: what the worker said of the run that wrote the newer one.
    """

    def __init__(self, pair: Pair, outcome: Outcome) -> None:
        self._pair, self._outcome, self._sample = pair, outcome, Sample()

    def add(self, piece: Piece, broken: Mask | None) -> None:
        """Takes the next elements that differ; see `pairs.Watcher`."""
        if broken is None:
            return
        rows = piece.indices, piece.first, piece.second
        self._sample.add(*rows if broken.all() else (row[broken] for row in rows))

    def added_to(self, comparison: Comparison) -> Comparison:
        """The comparison with its findings, the strongest first; unchanged where nothing differs in place.

        Raises:
            DumpError: a dump does not hold what its header says.
            StorageError: one cannot be read.
        """
        if comparison.same or not self._sample.of:
            return comparison
        evidence = _evidence(self._pair, self._outcome, self._sample)
        found, numbers = diagnose.diagnose(evidence), dict(comparison.numbers)
        # An element that no thread wrote may be one that the launch has no thread for.
        is_guess = evidence.layout is not None and evidence.layout.kind == "stretch"
        has_thread = not (is_guess and any(finding.pattern == "never written" for finding in found))
        if comparison.worst is not None and evidence.launch is not None and has_thread:
            numbers["place"] = diagnose.place_of(comparison.worst.index, evidence.launch, evidence.shape)
        return dataclasses.replace(comparison, findings=found, numbers=numbers)


_CPU_SHARED = b"\xff"
"""What the CPU device fills shared memory with before each block (docs/cpu-device.md); a GPU leaves what was there."""


def _evidence(pair: Pair, outcome: Outcome, sample: Sample) -> Evidence:
    request, case = pair.request, pair.case
    indices, expected, actual = sample.rows()
    whole = _whole(pair) if request.total <= _WHOLE else {}
    return Evidence(
        request.element_type,
        request.shape,
        indices,
        expected,
        actual,
        of=sample.of,
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
    was = pair.case.initial_buffers.get(pair.now.buffer)
    if was is None or not was.is_poisoned:
        return b""
    return bytes.fromhex(outcome.observations.poison)


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
