"""Comparison of an array with a dump, outside of any job, in the words of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.escapes import entry
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import BufferVerdict, Comparison, Rule, Verdict
from gpuregress.gpu.records import replace
from gpuregress.judge import diagnose
from gpuregress.judge.compare import comparators, in_order
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.diagnose import DifferenceSample, Evidence
from gpuregress.report import terminal
from gpuregress.store.dumps import reader


@float_environment.default()
def difference(name: str, array: npt.NDArray[Any], element: ElementType, rule: Rule, path: Path) -> str:
    """Describe how an array differs from its baseline; "" where it does not.

    Args:
        name: of the array.
        array: in the storage dtype.
        element: its element type.
        rule: of the comparison.
        path: of the baseline.
    """
    if not path.exists():
        return f"{name}: no baseline yet"
    try:
        baseline = reader.read(path)
    except GpuregressError as error:
        return entry(f"{name}: {error}")
    header = baseline.header
    if (header.element_type.name, header.shape) != (element.name, array.shape):
        was, now = _kind(header.element_type, header.shape), _kind(element, array.shape)
        return f"{name}: {now}, the baseline has {was}"
    if not array.size:
        return ""
    request = ComparisonRequest(name, element, array.shape, rule)
    comparison = _compared(request, baseline.array.reshape(-1), array.reshape(-1))
    if comparison.same:
        return ""
    verdict = Verdict(name, name, "differ", buffers=(BufferVerdict(name, "differ", comparisons=(comparison,)),))
    return "\n".join(map(entry, terminal.details(verdict)))


def _compared(request: ComparisonRequest, expected: npt.NDArray[Any], actual: npt.NDArray[Any]) -> Comparison:
    if comparators.comparator_name(request.rule, request.element_type) != "indexed":
        return comparators.compare(request, expected, actual)
    run, sample = in_order.InOrder(request, every=True), DifferenceSample()
    for start in range(0, len(expected), in_order.BLOCK):
        piece = slice(start, start + in_order.BLOCK)
        indices = np.arange(start, start + len(expected[piece]))
        broken = run.add(indices, expected[piece], actual[piece])
        sample.add(indices[broken], expected[piece][broken], actual[piece][broken])
    comparison = run.finish()
    if comparison.same or not sample.of:
        return comparison
    evidence = Evidence(
        request.element_type, request.shape, *sample.rows(), of=sample.of, whole_expected=expected, whole_actual=actual
    )
    return replace(comparison, findings=diagnose.diagnose(evidence))


def _kind(element: ElementType, shape: tuple[int, ...]) -> str:
    return f"{element.name} {list(shape)}"
