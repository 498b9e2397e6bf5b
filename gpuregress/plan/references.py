"""References of a case: functions of the inputs, trusted kernels, and their own rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuregress import records
from gpuregress.document.reader import Key
from gpuregress.plan import comparison_rules, sources
from gpuregress.spec.load import JobFile
from gpuregress.spec.resolve import functions as user_functions
from gpuregress.spec.resolve import launches
from gpuregress.spec.resolve.scope import Scope


@dataclass(frozen=True, slots=True)
class CaseReferences:
    """The references of one case: functions, kernels, and the rules that are their own."""

    functions: Mapping[str, str]
    kernels: Mapping[str, records.ReferenceKernel]
    rules: Mapping[str, records.Rule]


def case_references(
    file: JobFile, scope: Scope, facts: sources.SourceFacts | None, buffers: Mapping[str, records.Buffer]
) -> CaseReferences:
    """Resolve the references of one case.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        facts: the job's source, None where it is not there.
        buffers: the case's.
    """
    functions: dict[str, str] = {}
    kernels: dict[str, records.ReferenceKernel] = {}
    for name, item in file.job.reference.items():
        if item.python is not None:
            path = user_functions.existing(scope, item.python, _function_key(file, name))
            functions |= {name: path} if path else {}
        else:
            kernel = _kernel(file, scope, facts, buffers, name)
            kernels |= {name: kernel} if kernel else {}
    return CaseReferences(functions, kernels, _rules(file, scope, buffers))


def _function_key(file: JobFile, name: str) -> Key:
    is_short = isinstance(file.document.data["reference"][name], str)
    return ("reference", name) if is_short else ("reference", name, "python")


def _kernel(
    file: JobFile,
    scope: Scope,
    facts: sources.SourceFacts | None,
    buffers: Mapping[str, records.Buffer],
    name: str,
) -> records.ReferenceKernel | None:
    key: Key = ("reference", name, "launches")
    before = scope.problems.reported
    written = launches.of_reference(file, scope, buffers, name)
    if scope.problems.reported == before and name in buffers and not any(name in one.buffers for one in written):
        scope.error(key, f"no launch takes {name}, so it could not be its reference")
    source = sources.of_reference(file, facts, scope, written, buffers, name) if facts is not None else None
    return records.ReferenceKernel(source, written) if source is not None else None


def _rules(file: JobFile, scope: Scope, buffers: Mapping[str, records.Buffer]) -> dict[str, records.Rule]:
    resolved = {}
    for name, item in file.job.reference.items():
        if item.compare is not None and name in buffers:
            resolved[name] = comparison_rules.sound_rule(
                scope, item.compare, buffers[name], ("reference", name, "compare")
            )
    return resolved
