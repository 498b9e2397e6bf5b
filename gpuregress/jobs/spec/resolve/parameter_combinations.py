"""Cartesian product of a job's parameters, filtered by `where`. The last parameter changes fastest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpuregress.foundation.document.problems import Problems
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import ExpressionError, Value
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.resolve import parameter_values
from gpuregress.jobs.spec.resolve.scope import Scope

if TYPE_CHECKING:
    from gpuregress.toolchain.python_kernels.autotuning import Configuration

MAX_CASES = 100_000
MAX_COMBINATIONS = 5_000_000
MAX_NAME = 200


Tuning = Callable[[Mapping[str, Value]], Sequence["Configuration | None"]]
"""A combination of parameters → the configurations of its kernel, each a case; [None] without any."""


def scopes(file: JobFile, problems: Problems, tuning: Tuning = lambda _names: [None]) -> tuple[Scope, ...]:
    """Return one scope for each case of the job.

    Args:
        file: the job.
        problems: collects the errors; they may leave no case.
        tuning: multiplies the combinations by the configurations of an autotuned kernel.
    """
    values = parameter_values.values(file, problems)
    if values is None:
        return ()
    count = math.prod(len(choices) for choices in values.values())
    if count > MAX_COMBINATIONS:
        problems.add(("parameters",), f"make {count:,} combinations: at most {MAX_COMBINATIONS:,} are tried")
        return ()
    cases: list[Scope] = []
    before = problems.reported
    for names, configuration in _kept(file, values, problems, tuning):
        if len(cases) == MAX_CASES:
            problems.add(("parameters",), f"make more than {MAX_CASES:,} cases: split the job, or say more in `where`")
            return ()
        cases.append(Scope(names, problems, case_text(names), configuration))
    if (
        not cases
        and problems.reported == before
        and not file.is_broken("parameters", "where")
        and not any(e.key.startswith("where") for e in problems.errors)
    ):
        problems.add(("where",), f"leaves none of the {count} combinations: the job has no case")
    longest = max((scope.case for scope in cases), key=len, default="")
    if len(longest) > MAX_NAME:
        problems.add(("parameters",), f"make a case name of {len(longest)} characters; the limit is {MAX_NAME}")
    return tuple(cases)


def case_text(names: Mapping[str, Value]) -> str:
    """Return `n=1000,real=float`, which is also the name of the case's folder."""
    return ",".join(f"{name}={parameter_values.spelling(value)}" for name, value in names.items())


def case_name(job: str, case: str) -> str:
    """Return `reduce/n=1000,tile=128`, or the job's name if it has no parameters."""
    return f"{job}/{case}" if case else job


def _kept(
    file: JobFile, values: Mapping[str, tuple[Value, ...]], problems: Problems, tuning: Tuning
) -> Iterator[tuple[dict[str, Value], Configuration | None]]:
    conditions = list(zip(file.positions("where"), file.job.where, strict=True))
    wrong: set[int] = set()
    plain = (dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values()))
    tuned = ((names, one) for names in plain for one in tuning(names))
    for of_job, configuration in tuned:
        names = {**of_job, **(configuration.parameters if configuration is not None else {})}
        keep = True
        for position, condition in conditions:
            if position in wrong:
                continue
            try:
                keep = keep and bool(expressions.evaluate(condition, names))
            except ExpressionError as error:
                wrong.add(position)
                problems.add(("where", position), f"{error}{f' (where {case_text(names)})' if names else ''}")
            if not keep:
                break
        if keep:
            yield names, configuration
