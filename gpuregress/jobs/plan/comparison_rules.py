"""Comparison rules of a case's buffers, checked for bounds that could hardly fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.reader import Key
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan import verify_signature
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.rules import RuleSpec
from gpuregress.jobs.spec.resolve import rules
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.store.project import Project

_TOLERANCES = frozenset(["rtol", "atol", "ulp"])
"""The keys of a rule that a `verify` function gets."""


def case_rules(
    job: JobSpec,
    scope: Scope,
    project: Project,
    buffers: Mapping[str, records.Buffer],
    dump: Sequence[str],
    verify: Mapping[str, str],
) -> dict[str, records.Rule]:
    """Choose the rule of each dumped buffer: the job's, the project's default, or exact; and the user's function.

    Args:
        job: its `compare`.
        scope: the case's numbers; errors are reported there.
        project: its default tolerances.
        buffers: the case's.
        dump: those that are dumped.
        verify: buffer → `/abs/module.py:function`.
    """
    resolved = {}
    for name in dump:
        if name not in buffers:
            continue
        default = project.settings.compare.get(dtypes.parse(buffers[name].dtype).name)
        if name in job.compare:
            resolved[name] = sound_rule(scope, job.compare[name], buffers[name], ("compare", name), verify.get(name))
        elif default is not None:
            resolved[name] = records.Rule(rtol=default.rtol, atol=default.atol, verify=verify.get(name))
        else:
            resolved[name] = records.Rule(verify=verify.get(name))
    return resolved


def sound_rule(
    scope: Scope, item: RuleSpec, buffer: records.Buffer, key: Key, verify: str | None = None
) -> records.Rule:
    """Resolve one rule, and report unsound bounds.

    Args:
        scope: the case's numbers; errors are reported there.
        item: as the job has it.
        buffer: that it belongs to.
        key: its key.
        verify: the job's own function for this buffer, which decides in place of the rule.
    """
    element = dtypes.parse(buffer.dtype)
    before = scope.problems.reported
    rule = rules.rule(scope, item, element, key)
    if scope.problems.reported == before:
        from gpuregress.jobs.spec import rule_validation  # noqa: PLC0415 - a run waits for it, and many jobs have no rule

        count = math.prod(buffer.shape)
        for below, message in (
            *rule_validation.validate_rule(rule, element),
            *rule_validation.validate_sample(rule, count),
        ):
            scope.error((*key, *below), message)
    if rule.verify is not None:
        verify_signature.check(scope, (*key, "verify"), rule.verify)
    if verify is None:
        return rule
    for name in sorted(item.written - _TOLERANCES):
        scope.error((*key, name), f"has no effect: the job's verify compares {buffer.name}, with rtol, atol and ulp")
    return replace(rule, verify=verify)
