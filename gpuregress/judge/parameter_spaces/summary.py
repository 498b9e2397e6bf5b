"""Summary of a run's verdicts over the parameters of each job.

Failures are grouped by their way of failing; a grid shows the verdicts over two parameters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuregress.foundation.records import FailureGroup, ParameterGrid, ParameterSpace, Status, Verdict
from gpuregress.gpu.records import replace
from gpuregress.judge.parameter_spaces import conditions
from gpuregress.judge.parameter_spaces.conditions import Conditions

MANY = 4
"""Failures of one job in one way from which on they are summarized."""
MOST_COLUMNS = 64
_STAGES: dict[Status, int] = {"error": 0, "timeout": 1, "fault": 1, "new": 2, "differ": 2, "pass": 3}
"""How far a case came; a group is compared with the cases that came further."""


def summarize(verdicts: Iterable[Verdict]) -> tuple[ParameterSpace, ...]:
    """Summarize the verdicts of each job that has parameters.

    Args:
        verdicts: of a run.

    Returns:
        A summary of each job of which a parameter has several values, in the order of the verdicts.
    """
    jobs: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.parameters:
            jobs[verdict.job].append(verdict)
    made = (_space(job, cases) for job, cases in jobs.items())
    return tuple(space for space in made if space is not None)


def _space(job: str, cases: Sequence[Verdict]) -> ParameterSpace | None:
    """The summary of one job; None where no parameter has several values."""
    names = [name for name in cases[0].parameters if all(name in case.parameters for case in cases)]
    cases = _with_distinct_values(cases, names)
    values = {name: conditions.ordered([case.parameters[name] for case in cases]) for name in names}
    values = {name: several for name, several in values.items() if len(several) > 1}
    if not values:
        return None
    ways: defaultdict[tuple[Status, str, int], list[Verdict]] = defaultdict(list)
    for case in cases:
        if case.status in ("differ", "fault", "timeout", "error"):
            fault = case.outcome.fault.kind if case.outcome is not None and case.outcome.fault is not None else ""
            ways[case.status, fault if case.status == "fault" else "", case.exit_code].append(case)
    groups = [
        replace(_group(failing, cases, values, fault), is_only=len(ways) == 1)
        for (_, fault, _), failing in ways.items()
        if len(failing) >= MANY
    ]
    groups.sort(key=lambda group: -len(group.cases))
    plain = {name: tuple(several) for name, several in values.items()}
    return ParameterSpace(job, plain, tuple(groups), _grid(cases, values, groups))


def _with_distinct_values(cases: Sequence[Verdict], names: Sequence[str]) -> Sequence[Verdict]:
    """The cases with text for the values of parameters that have booleans and numbers, for `True == 1`."""
    kinds = {name: {isinstance(case.parameters[name], bool) for case in cases} for name in names}
    mixed = [name for name in names if len(kinds[name]) > 1]
    if not mixed:
        return cases
    texts = [{name: conditions.value_text(case.parameters[name]) for name in mixed} for case in cases]
    return [replace(case, parameters={**case.parameters, **text}) for case, text in zip(cases, texts, strict=True)]


# --- groups of failures -----------------------------------------------------------------------------------------------


def _group(
    failing: Sequence[Verdict], cases: Sequence[Verdict], values: Mapping[str, Sequence[Any]], fault: str
) -> FailureGroup:
    status = failing[0].status
    others = [case for case in cases if _STAGES.get(case.status, -1) > _STAGES[status]]
    if status == "differ":
        others = [case for case in others if case.status == "pass"]
    known = conditions.find([_of(case, values) for case in failing], [_of(case, values) for case in others])
    ranks = {
        name: {value: at / (len(several) - 1) for at, value in enumerate(several)} for name, several in values.items()
    }
    simple = sorted(failing, key=lambda case: _size(case, ranks))
    ran = sum(case.status != "skip" for case in cases)
    text = _text(known, len(failing), others, ran)
    return FailureGroup(
        status,
        fault,
        tuple(case.case for case in simple),
        known.alternatives if known is not None else (),
        known.covered if known is not None else 0,
        known.exceptions if known is not None else 0,
        len(others),
        text,
    )


def _of(case: Verdict, values: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: case.parameters[name] for name in values}


def _size(case: Verdict, ranks: Mapping[str, Mapping[Any, float]]) -> float:
    """The size of a case's parameters: the ranks of their values, each from 0 to 1, added up."""
    return sum(of_values[case.parameters[name]] for name, of_values in ranks.items())


def _text(known: Conditions | None, failing: int, others: Sequence[Verdict], ran: int) -> str:
    """What is known of a group in one line.

    Args:
        known: its conditions.
        failing: its cases.
        others: those that it was compared with.
        ran: all cases of the job that ran; those that failed in another way are in neither.
    """
    if known is None:
        if failing == ran:
            return f"all {failing} cases fail, so no parameter tells why"
        if not others:
            return "no case passes that the failing ones could be compared with"
        return f"no parameter values tell the {failing} failing cases from the {len(others)} others"
    single = len(known.alternatives) == 1
    joined = [" and ".join(condition.text for condition in one) for one in known.alternatives]
    shared = " or ".join(f"({text})" if " and " in text and not single else text for text in joined)
    text = f"every failing case has {shared}"
    if known.covered < failing:
        text = f"{known.covered} of {failing} failing cases have {shared}"
    if not known.exceptions:
        return text
    passing, one = all(case.status == "pass" for case in others), known.exceptions == 1
    verb = ("passes" if one else "pass") if passing else ("does" if one else "do") + " not fail in this way"
    if failing + len(others) < ran:
        return f"{text}; {known.exceptions} such case{'' if one else 's'} {verb}"
    return f"{text}; {known.exceptions} of {known.covered + known.exceptions} such cases {verb}"


# --- grid -------------------------------------------------------------------------------------------------------------


def _grid(
    cases: Sequence[Verdict], values: Mapping[str, Sequence[Any]], groups: Sequence[FailureGroup]
) -> ParameterGrid | None:
    """The grid over the first two parameters of the conditions, else over the first two that vary."""
    named = [one.parameter for group in groups for conditions in group.alternatives for one in conditions]
    axes = [name for name in dict.fromkeys((*named, *values)) if len(values[name]) <= MOST_COLUMNS][:2]
    if len(axes) < 2:
        return None
    x, y = (name for name in values if name in axes)
    cells: defaultdict[tuple[Any, Any], Counter[str]] = defaultdict(Counter)
    for case in cases:
        cells[case.parameters[x], case.parameters[y]][case.status] += 1
    rows = tuple(tuple(dict(cells[column, row]) for column in values[x]) for row in values[y])
    return ParameterGrid(x, y, tuple(values[x]), tuple(values[y]), rows)
