"""Planning: job files become cases, with every expression evaluated. Touches no device."""

from __future__ import annotations

from gpuregress.plan.selection import BrokenJob, Plan, make
from gpuregress.plan.signature_check import check_program, check_reference, unknown_names, unset_constants
from gpuregress.plan.sources import of_program

__all__ = [
    "BrokenJob",
    "Plan",
    "check_program",
    "check_reference",
    "make",
    "of_program",
    "unknown_names",
    "unset_constants",
]
