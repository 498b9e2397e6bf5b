"""Planning: job files become cases, with every expression evaluated. Touches no device."""

from __future__ import annotations

from gpuregress.jobs.plan.compiled_launches import completed as completed
from gpuregress.jobs.plan.compiled_launches import has_named_members as has_named_members
from gpuregress.jobs.plan.compiled_launches import of_programs as of_programs
from gpuregress.jobs.plan.job_plan import CaseOverrides as CaseOverrides
from gpuregress.jobs.plan.selection import BrokenJob as BrokenJob
from gpuregress.jobs.plan.selection import CaseFilter as CaseFilter
from gpuregress.jobs.plan.selection import Plan as Plan
from gpuregress.jobs.plan.selection import make as make
from gpuregress.jobs.plan.signature_check import check_programs as check_programs
from gpuregress.jobs.plan.signature_check import check_reference as check_reference
from gpuregress.jobs.plan.signature_check import type_sources as type_sources
from gpuregress.jobs.plan.signature_check import unknown_names as unknown_names
from gpuregress.jobs.plan.signature_check import unset_constants as unset_constants
