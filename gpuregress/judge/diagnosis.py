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
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records import BufferImage, Case, Comparison, ErrorMaps, Outcome
from gpuregress.gpu.records import replace
from gpuregress.jobs import inputs
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.diagnose import buffer_image, pattern_table
from gpuregress.judge.diagnose.evidence import DifferenceSample, Evidence
from gpuregress.store.dumps.line_diff import ElementPairs

PAGE = 60
"""Bins along the map of a run's page; results.json holds them, so they are few."""
ROWS = 12
"""Most rows of a heat map: it must leave room for the rest of the screen."""
MOST_VALUES = 1 << 22
"""Elements up to which both buffers are read for the values of the image."""


class Differences:
    """Observer of a comparison: it bins all errors, and samples the elements that break the rule.

    The bins are a strip, a heat map for two axes or more, and the cells of an image.

    Args:
        pair: the two dumps.
        width: bins of a row.
    """

    def __init__(self, pair: BufferPair, width: int) -> None:
        self.sample = DifferenceSample()
        self._pair, shape = pair, pair.actual.shape
        self._element, total = pair.request.element_type, pair.request.total
        self._strip = buffer_image.strip(total, width)
        has_rows = len(shape) > 1 and shape[-1] > 1 and total > shape[-1]
        self._heat_map = buffer_image.heat_map(shape, ROWS, width) if has_rows else None
        self._image = buffer_image.bins(shape) if total else None
        self._is_empty = True

    def add(self, pairs: ElementPairs, broken: Mask | None) -> None:
        """Receive the next elements that differ; see `buffer_pairs.DifferenceObserver`."""
        errors = _errors(self._element, pairs.expected, pairs.actual)
        for bins in (self._strip, self._heat_map, self._image):
            if bins is not None:
                bins.add(pairs.indices, errors)
        self._is_empty &= not len(errors)
        if broken is not None and broken.all():
            self.sample.add(pairs.indices, pairs.expected, pairs.actual)
        elif broken is not None:
            self.sample.add(pairs.indices[broken], pairs.expected[broken], pairs.actual[broken])

    def drawn(self, comparison: Comparison) -> Comparison:
        """Add the error maps to a failed comparison; unchanged without differing elements."""
        if self._is_empty:
            return comparison
        heat_map = self._heat_map.profile if self._heat_map is not None else None
        maps = ErrorMaps(self._strip.profile, heat_map, self._drawn_image(comparison))
        return replace(comparison, figures=replace(comparison.figures, error_maps=maps))

    def _drawn_image(self, comparison: Comparison) -> BufferImage | None:
        """The image, with the values of a buffer that is not too large."""
        if self._image is None:
            return None
        pair, shape, values = self._pair, self._pair.actual.shape, None
        names = [part.name for part in self._element.parts]
        part = names[0]
        if comparison.worst is not None and comparison.worst.part in names:
            part = comparison.worst.part
        if self._pair.request.total <= MOST_VALUES:
            expected = self._values(pair.loaded(pair.expected).array, names.index(part))
            actual = self._values(pair.loaded(pair.actual).array, names.index(part))
            values = buffer_image.value_layers(shape, expected, actual)
        return buffer_image.image(shape, self._image, values, part, pair.case.writer_of(pair.actual.buffer))

    def _values(self, array: Array, part: int) -> npt.NDArray[np.float64]:
        column = self._element.columns(array.reshape(-1))[part]
        return dtypes.to_float(column, self._element.parts[part].scalar).astype(np.float64)


def _errors(element: ElementType, expected: Array, actual: Array) -> npt.NDArray[np.float64]:
    """The largest |actual - expected| of each row's parts; NaN where exactly one of the two is NaN."""
    worst = np.zeros(len(expected))
    columns = zip(element.parts, element.columns(expected), element.columns(actual), strict=True)
    with np.errstate(all="ignore"):
        for part, *sides in columns:
            e, a = (dtypes.to_float(side, part.scalar).astype(np.float64) for side in sides)
            both_nan = np.isnan(e) & np.isnan(a)
            worst = np.maximum(worst, np.where((e == a) | both_nan, 0.0, np.abs(a - e)))
    return np.asarray(worst)


WHOLE = 1 << 22
"""Elements up to which whole buffers and inputs are read for the diagnosis."""


def compare(pair: BufferPair, outcome: Outcome, width: int = PAGE) -> Comparison:
    """Compare a pair; a failed comparison gets its findings and its error map.

    Args:
        pair: the two dumps.
        outcome: of the run that wrote the actual one.
        width: of the error map, in bins.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    differences = Differences(pair, width)
    comparison = pair.compare(differences.add)
    if comparison.same:
        return comparison
    if differences.sample.of:
        comparison = _diagnosed(comparison, _evidence(pair, outcome, differences.sample))
    return differences.drawn(comparison)


def _diagnosed(comparison: Comparison, evidence: Evidence) -> Comparison:
    """Add the findings, the strongest first, and the thread of the worst element."""
    findings, figures = pattern_table.diagnose(evidence), comparison.figures
    # An element that no thread wrote may be one that the launch has no thread for.
    is_guess = evidence.mapping is not None and evidence.mapping.kind == "stretch"
    has_thread = not (is_guess and any(finding.pattern == "never written" for finding in findings))
    if comparison.worst is not None and evidence.launch is not None and has_thread:
        thread = pattern_table.thread_label(comparison.worst.index, evidence.launch, evidence.shape)
        figures = replace(figures, worst_thread=thread)
    return replace(comparison, findings=findings, figures=figures)


_CPU_SHARED = b"\xff"
"""The CPU device's fill of shared memory before each block; a GPU leaves the bytes of the block before."""


def _evidence(pair: BufferPair, outcome: Outcome, sample: DifferenceSample) -> Evidence:
    request, case = pair.request, pair.case
    indices, expected, actual = sample.rows()
    unset = _CPU_SHARED if outcome.device is not None and outcome.device.name == "cpu" else b""
    evidence = Evidence(
        element_type=request.element_type,
        shape=request.shape,
        indices=indices,
        expected=expected,
        actual=actual,
        of=sample.of,
        launch=case.writer_of(pair.actual.buffer),
        poison=_poison(pair, outcome),
        unset=unset,
        inputs=_inputs(case),
    )
    if request.total > WHOLE:
        return evidence
    whole_expected = pair.loaded(pair.expected).array.reshape(-1)
    return replace(evidence, whole_expected=whole_expected, whole_actual=pair.loaded(pair.actual).array.reshape(-1))


def _poison(pair: BufferPair, outcome: Outcome) -> bytes:
    initial = pair.case.initial_buffers.get(pair.actual.buffer)
    if initial is None or not initial.is_poisoned:
        return b""
    return bytes.fromhex(outcome.observations.writes.poison)


def _inputs(case: Case) -> Mapping[str, Array]:
    """Small scalar inputs as numbers, flat; not those that only the user's code can make."""
    numbers: dict[str, Any] = {}
    for name, buffer in case.buffers.items():
        element = dtypes.parse(buffer.dtype)
        is_easy = buffer.fill is not None and not buffer.fill.runs_user_code and math.prod(buffer.shape) <= WHOLE
        if not is_easy or len(element.parts) != 1:
            continue
        try:
            array = inputs.fill(buffer)
        except GpuregressError:
            continue  # a file that has gone since: the patterns do without it
        numbers[name] = dtypes.to_float(element.columns(array.reshape(-1))[0], element.parts[0].scalar)
    return numbers
