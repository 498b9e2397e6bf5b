"""Use of a tolerance in words."""

from __future__ import annotations

from gpuregress.foundation.records import Verdict

NEAR = 0.8
"""The share of a tolerance above which a case that passes is near its limit."""


def percentage(share: float) -> str:
    """Write a share as `93 %`; neither a share below 1 nor one above is rounded to 100 %."""
    percent = share * 100
    if percent > 1000:
        return "over 1000 %"
    if percent < 99.5 or percent >= 100.5 or percent == 100:
        return f"{percent:.0f} %" if percent >= 1 or not percent else "under 1 %"
    return "over 100 %" if percent > 100 else "almost 100 %"


def of_case(verdict: Verdict, *, verbose: bool) -> str:
    """Describe the use of a case's tolerance: `93 % of its tolerance used`.

    Args:
        verdict: the case's.
        verbose: else only cases that pass and are near their limit are described.
    """
    share = verdict.tolerance_share
    if share is None or not (verbose or (verdict.status in ("pass", "new") and share > NEAR)):
        return ""
    return f"{percentage(share)} of its tolerance used"
