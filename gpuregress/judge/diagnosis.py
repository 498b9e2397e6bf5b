"""Diagnosis of a failed comparison: evidence of a buffer pair for the patterns of `diagnose`.

Evidence is gathered only once something differs: the elements, their launch, the poison, the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.numeric.ordinals import Mask
from gpuregress.foundation.records import Case, Comparison, Outcome
from gpuregress.gpu.records import replace
from gpuregress.jobs import inputs
from gpuregress.judge import diagnose, error_map
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.diagnose import DifferenceSample, Evidence
from gpuregress.store.dumps import reader
from gpuregress.store.dumps.line_diff import ElementPairs

Array = npt.NDArray[np.generic]
WHOLE = 1 << 22
"""Elements up to which whole buffers and inputs are read for the diagnosis."""


def compare(pair: BufferPair, outcome: Outcome, width: int = error_map.PAGE) -> Comparison:
    """Compare a pair; a failed comparison gets its findings and its error map.

    Args:
        pair: the two dumps.
        outcome: of the run that wrote the actual one.
        width: of the error map, in bins.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    diagnosis, errors = Diagnosis(pair, outcome), error_map.ErrorMap(pair, width)
    return errors.added_to(diagnosis.added_to(pair.compare(diagnosis, errors)))


class Diagnosis:
    """Observer of a comparison that samples the elements breaking the rule and diagnoses them.

    Args:
        pair: the two dumps.
        outcome: of the run that wrote the actual one.
    """

    def __init__(self, pair: BufferPair, outcome: Outcome) -> None:
        self._pair, self._outcome, self._sample = pair, outcome, DifferenceSample()

    def add(self, pairs: ElementPairs, broken: Mask | None) -> None:
        """Receive the next elements that differ; see `buffer_pairs.DifferenceObserver`."""
        if broken is None:
            return
        rows = pairs.indices, pairs.expected, pairs.actual
        self._sample.add(*rows if broken.all() else (row[broken] for row in rows))

    def added_to(self, comparison: Comparison) -> Comparison:
        """The comparison with its findings, the strongest first; unchanged without differing elements.

        Raises:
            DumpError: a dump does not hold what its header says.
            StorageError: one cannot be read.
        """
        if comparison.same or not self._sample.of:
            return comparison
        evidence = _evidence(self._pair, self._outcome, self._sample)
        findings, figures = diagnose.diagnose(evidence), comparison.figures
        # An element that no thread wrote may be one that the launch has no thread for.
        is_guess = evidence.mapping is not None and evidence.mapping.kind == "stretch"
        has_thread = not (is_guess and any(finding.pattern == "never written" for finding in findings))
        if comparison.worst is not None and evidence.launch is not None and has_thread:
            thread = diagnose.thread_label(comparison.worst.index, evidence.launch, evidence.shape)
            figures = replace(figures, worst_thread=thread)
        return replace(comparison, findings=findings, figures=figures)


_CPU_SHARED = b"\xff"
"""The CPU device's fill of shared memory before each block; a GPU leaves the bytes of the block before."""


def _evidence(pair: BufferPair, outcome: Outcome, sample: DifferenceSample) -> Evidence:
    request, case = pair.request, pair.case
    indices, expected, actual = sample.rows()
    is_small = request.total <= WHOLE
    return Evidence(
        request.element_type,
        request.shape,
        indices,
        expected,
        actual,
        of=sample.of,
        launch=case.writer_of(pair.actual.buffer),
        poison=_poison(pair, outcome),
        unset=_CPU_SHARED if outcome.device is not None and outcome.device.name == "cpu" else b"",
        inputs=_inputs(case),
        whole_expected=pair.loaded(pair.expected).array.reshape(-1) if is_small else None,
        whole_actual=pair.loaded(pair.actual).array.reshape(-1) if is_small else None,
    )


def _poison(pair: BufferPair, outcome: Outcome) -> bytes:
    initial = pair.case.initial_buffers.get(pair.actual.buffer)
    is_poisoned = initial is not None and initial.is_poisoned
    return bytes.fromhex(outcome.observations.writes.poison) if is_poisoned else b""


def _inputs(case: Case) -> Mapping[str, Array]:
    """Small scalar inputs as numbers, flat; not those that only the user's code can make."""
    numbers: dict[str, Any] = {}
    for name, buffer in case.buffers.items():
        element = dtypes.parse(buffer.dtype)
        is_easy = buffer.fill is not None and not buffer.fill.runs_user_code and math.prod(buffer.shape) <= WHOLE
        if not is_easy or len(element.parts) != 1:
            continue
        try:
            array = inputs.fill(buffer, read_dump=reader.read)
        except GpuregressError:
            continue  # a file that has gone since: the patterns do without it
        numbers[name] = dtypes.to_float(element.columns(array.reshape(-1))[0], element.parts[0].scalar)
    return numbers
