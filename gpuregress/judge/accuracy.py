"""Accuracy of a result against its reference, and of the accepted one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Accuracy, AccuracyReport, Baseline, Case, Dump
from gpuregress.judge.compare.ulp_errors import UlpErrors
from gpuregress.store.dumps import files, line_diff

Trend = Literal["more accurate", "less accurate", "as accurate", "mixed"]


def is_reported(case: Case, buffer: str) -> bool:
    """Tell whether the accuracy of a buffer is reported: it has a twin of another precision, or the job asks."""
    kernel = case.reference_kernels.get(buffer)
    is_twin = kernel is not None and bool(kernel.buffer)
    return buffer in case.improves or (is_twin and _is_of_floats(case.buffers[buffer].dtype))


def report(case: Case, reference: Dump, actual: Dump, accepted: Baseline | None) -> AccuracyReport | None:
    """Measure the error of a result, and of the accepted one where the job asks for it.

    Args:
        case: the case that ran.
        reference: in its widest form.
        actual: this run's dump.
        accepted: the baseline, None without one.

    Returns:
        None where the reference has another shape, or elements that are not those of the result.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    if not _is_comparable(reference, actual):
        return None
    measured = measure(reference, actual)
    before = accepted.dumps.get(actual.buffer) if accepted is not None else None
    if actual.buffer not in case.improves or before is None or accepted is None:
        return AccuracyReport(actual.dtype, measured)
    if (before.dtype, before.shape) != (actual.dtype, actual.shape):
        return AccuracyReport(actual.dtype, measured)
    if before.digest != actual.digest:
        files.verify(before)
    was = measured if before.digest == actual.digest else measure(reference, before)
    return AccuracyReport(actual.dtype, measured, was, accepted.revision, trend(was, measured))


def measure(reference: Dump, result: Dump) -> Accuracy:
    """Measure the error of a dump, piece by piece.

    Args:
        reference: of the result's element type, or of `dtypes.widened`.
        result: of the same shape.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    errors = UlpErrors(dtypes.parse(result.dtype), dtypes.parse(reference.dtype))
    widened = reference.dtype != result.dtype
    for pairs in line_diff.pairs(Path(reference.path), Path(result.path), every=True, widened=widened):
        errors.add(pairs.expected, pairs.actual)
    return errors.accuracy()


def trend(before: Accuracy, after: Accuracy) -> Trend:
    """Compare two accuracies; `mixed` where one measure is better and another one worse."""
    pairs = [
        (before.misplaced, after.misplaced),
        (before.max_ulp, after.max_ulp),
        (before.rms_ulp, after.rms_ulp),
    ]
    is_better, is_worse = any(new < old for old, new in pairs), any(new > old for old, new in pairs)
    if is_better and is_worse:
        return "mixed"
    return "more accurate" if is_better else "less accurate" if is_worse else "as accurate"


def _is_comparable(reference: Dump, actual: Dump) -> bool:
    wide = dtypes.widened(dtypes.parse(actual.dtype)).name
    return reference.shape == actual.shape and reference.dtype in (actual.dtype, wide) and _is_of_floats(actual.dtype)


def _is_of_floats(dtype: str) -> bool:
    return all(part.scalar.is_float for part in dtypes.parse(dtype).parts)
