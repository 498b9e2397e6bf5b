"""Planning: job files become cases, with every expression evaluated. Touches no device."""

from __future__ import annotations

from gpuregress.plan.compiled.launches import completed as completed
from gpuregress.plan.compiled.program_revisions import of_programs as of_programs
from gpuregress.plan.job_plans.job_plan import CaseOverrides as CaseOverrides
from gpuregress.plan.selection import BrokenJob as BrokenJob
from gpuregress.plan.selection import CaseFilter as CaseFilter
from gpuregress.plan.selection import Plan as Plan
from gpuregress.plan.selection import make as make
from gpuregress.plan.selection import of_cases as of_cases
from gpuregress.plan.signature_check import check_programs as check_programs
from gpuregress.plan.signature_check import check_reference as check_reference
from gpuregress.plan.signature_check import type_sources as type_sources
from gpuregress.plan.signature_check import unknown_names as unknown_names
from gpuregress.plan.signature_check import unset_constants as unset_constants
