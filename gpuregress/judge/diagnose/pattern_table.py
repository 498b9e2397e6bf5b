"""Table of bug patterns, the more specific first, and the search for them."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.records import Finding, Launch
from gpuregress.gpu.records import replace
from gpuregress.judge.diagnose.evidence import Evidence, Pattern, fitting_mapping, per_part
from gpuregress.judge.diagnose.patterns import bits, positions, summation, unwritten, values

PATTERNS: dict[str, Pattern] = {
    "never written": unwritten.never_written,
    "read too early": unwritten.read_too_early,
    "nan": per_part(unwritten.nan),
    "zeros": per_part(unwritten.zeros),
    "rounding": per_part(values.rounding),
    "sign": per_part(values.sign),
    "byte order": per_part(bits.byte_order),
    "bit": per_part(bits.flipped),
    "wrap-around": per_part(bits.wrapped),
    "signed shift": per_part(bits.shifted_sign),
    "permutation": per_part(positions.permuted),
    "shift": per_part(positions.shift),
    "factor": per_part(values.factor),
    "offset": per_part(values.offset),
    "precision": per_part(values.precision),
    "loop count": per_part(summation.one_term),
    "terms": per_part(summation.some_terms),
    "outer product": per_part(summation.outer_product),
    "tail": positions.tail,
    "blocks": positions.whole_blocks,
    "thread": positions.thread,
    "rows and columns": positions.rows_and_columns,
    "stride": positions.stride,
    "stretch": positions.stretch,
}
MOST_FINDINGS = 5


def diagnose(evidence: Evidence) -> tuple[Finding, ...]:
    """Find the patterns of a difference, those that explain the largest share first.

    Patterns of equal share keep the order of the table.

    Args:
        evidence: the elements that break the rule, and their context.
    """
    if not evidence.count:
        return ()
    with np.errstate(all="ignore"):
        findings = [pattern(evidence) for pattern in PATTERNS.values()]
    found = _without_poison_as_nan([finding for finding in findings if finding is not None])
    found.sort(key=lambda finding: -round(finding.weight, 2))
    if evidence.is_sample:
        sampled = f", seen on a sample of {evidence.count:,} of {evidence.differing:,} differing elements"
        return tuple(_with_remark(finding, sampled) for finding in found[:MOST_FINDINGS])
    return tuple(found[:MOST_FINDINGS])


def _with_remark(finding: Finding, remark: str) -> Finding:
    return replace(finding, message=finding.message + remark, summary=finding.summary and finding.summary + remark)


def _without_poison_as_nan(findings: list[Finding]) -> list[Finding]:
    """Drop the NaN pattern if all NaNs are poison, which is a NaN as a float."""
    poisoned = 0.0
    for finding in findings:
        if finding.pattern == "never written":
            poisoned = finding.weight
    return [finding for finding in findings if finding.pattern != "nan" or finding.weight > poisoned + 0.005]


def thread_label(index: int, launch: Launch, shape: tuple[int, ...]) -> str:
    """Describe an element's block, thread, warp and lane; "" if the launch does not determine them.

    Args:
        index: of the element, row-major.
        launch: the one that writes the buffer.
        shape: of the buffer.
    """
    mapping = fitting_mapping(launch, shape)
    if mapping is None:
        return ""
    return mapping.describe(index)
