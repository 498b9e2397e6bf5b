"""Cartesian product of a job's parameters, filtered by `where`. The last parameter changes fastest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from gpuregress.document.problems import Problems
from gpuregress.spec import expressions
from gpuregress.spec.expressions import ExpressionError, Number
from gpuregress.spec.load import JobFile
from gpuregress.spec.resolve.scope import Scope

MAX_CASES = 100_000
MAX_COMBINATIONS = 5_000_000
MAX_NAME = 200


def scopes(file: JobFile, problems: Problems) -> tuple[Scope, ...]:
    """Return one scope for each case of the job.

    Args:
        file: the job.
        problems: collects the errors; they may leave no case.
    """
    values = _values(file, problems)
    if values is None:
        return ()
    count = math.prod(len(choices) for choices in values.values())
    if count > MAX_COMBINATIONS:
        problems.add(("parameters",), f"make {count:,} combinations: at most {MAX_COMBINATIONS:,} are tried")
        return ()
    cases: list[Scope] = []
    for names in _kept(file, values, problems):
        if len(cases) == MAX_CASES:
            problems.add(("parameters",), f"make more than {MAX_CASES:,} cases: split the job, or say more in `where`")
            return ()
        cases.append(Scope(names, problems, case_text(names)))
    if (
        not cases
        and not file.is_broken("parameters", "where")
        and not any(e.key.startswith("where") for e in problems.errors)
    ):
        problems.add(("where",), f"leaves none of the {count} combinations: the job has no case")
    longest = max((scope.case for scope in cases), key=len, default="")
    if len(longest) > MAX_NAME:
        problems.add(("parameters",), f"make a case name of {len(longest)} characters; the limit is {MAX_NAME}")
    return tuple(cases)


def case_text(names: Mapping[str, Number]) -> str:
    """Return `n=1000,tile=128`, which is also the name of the case's folder."""
    return ",".join(f"{name}={value!r}" for name, value in names.items())


def case_name(job: str, case: str) -> str:
    """Return `reduce/n=1000,tile=128`, or the job's name if it has no parameters."""
    return f"{job}/{case}" if case else job


def _values(file: JobFile, problems: Problems) -> dict[str, tuple[Number, ...]] | None:
    """Evaluate the values of each parameter; None if one is invalid."""
    result: dict[str, tuple[Number, ...]] = {}
    before = len(problems)
    for name, choices in file.job.parameters.items():
        numbers: list[Number] = []
        for position, choice in enumerate(choices):
            key = ("parameters", name, position)
            try:
                number = expressions.evaluate(choice, {})
            except ExpressionError as error:
                problems.add(key, str(error))
                continue
            number = int(number) if isinstance(number, bool) else number
            if number in numbers:
                problems.add(key, f"duplicate value {number!r}")
            numbers.append(number)
        result[name] = tuple(numbers)
    return None if len(problems) > before or file.is_broken("parameters") else result


def _kept(file: JobFile, values: Mapping[str, tuple[Number, ...]], problems: Problems) -> Iterator[dict[str, Number]]:
    conditions = list(zip(file.positions("where"), file.job.where, strict=True))
    wrong: set[int] = set()
    for combination in itertools.product(*values.values()):
        names = dict(zip(values, combination, strict=True))
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
            yield names
