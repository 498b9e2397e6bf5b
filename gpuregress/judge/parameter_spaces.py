"""Summary of a run's verdicts over the parameters of each job.

Failures are grouped by their way of failing; a grid shows the verdicts over two parameters.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.records import (
    FailureGroup,
    ParameterCondition,
    ParameterGrid,
    ParameterSpace,
    Status,
    Verdict,
)
from gpuregress.foundation.wording import plural, value_text
from gpuregress.gpu.records import Record, replace

# Conditions on parameters that tell failing cases from passing ones, by a small decision tree.
# A set of cases is described by its bounding box: the values of each parameter that occur in it. The conditions of
# the fewest parameters that exclude as many passing cases as the whole box are kept. Where one box does not tell
# the failing cases from the passing ones, a decision tree divides them into a few, and each gets its own box.
# Conditions are named only where chance is a poor explanation. The probability that as many cases, drawn at random,
# would all fulfil them (hypergeometric), times the number of conditions that were tried (Bonferroni), must be
# small.
Parameters = Mapping[str, Any]

MOST_CONDITIONS = 4
MOST_ALTERNATIVES = 3
CHANCE = 0.1
"""The largest probability of conditions that hold for all failing cases and for no other."""
CHANCE_OF_OTHERS = 0.01
"""That of conditions with exceptions, or for some of the failing cases."""
MOST_ERRORS = 0.1
"""Of several alternatives, which a tree fits to the cases: passing cases that they hold for and failing ones that they
do not hold for, as a share of the failing cases."""
_MOST_TESTS = 14
_LEAST_COVERED = 0.75
_MOST_CHARACTERS = 400
"""Of a condition; a longer list of values tells a reader nothing."""


class Conditions(Record):
    """What failing cases share.

    Attributes:
        alternatives: each is a conjunction, in the order of the parameters.
        covered: failing cases that fulfil one of them.
        exceptions: passing cases that do.
    """

    alternatives: tuple[tuple[ParameterCondition, ...], ...]
    covered: int
    exceptions: int


def find(failing: Sequence[Parameters], passing: Sequence[Parameters]) -> Conditions | None:
    """Find the conditions that failing cases share and passing cases do not.

    Args:
        failing: the parameters of each failing case.
        passing: of each passing case; all cases have the same parameters, in the same order.

    Returns:
        None where chance explains as much.
    """
    if not failing or not passing:
        return None
    table = _Table.of(failing, passing)
    whole = table.box(table.failing)
    if whole is not None and not table.passes(whole.cases):
        return table.conditions([whole])
    candidates = []
    if whole is not None:
        candidates.append([whole])
    boxes = [box for box in map(table.box, table.leaves(table.every)) if box is not None]
    if boxes and len(boxes) <= MOST_ALTERNATIVES and table.errors(boxes) <= MOST_ERRORS * len(failing):
        candidates.append(boxes)
    candidates = [boxes for boxes in candidates if table.covered(boxes) >= _LEAST_COVERED * len(failing)]
    if not candidates:
        return None
    return table.conditions(min(candidates, key=lambda boxes: (table.errors(boxes), len(boxes))))


def ordered(values: Sequence[Any]) -> list[Any]:
    """The distinct values of a parameter: numbers ascending, others in the order in which they come."""
    distinct = list(dict.fromkeys(values))
    if all(map(_is_number, distinct)):
        distinct.sort()
    return distinct


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _Test(Record):
    """A condition, the set of cases that fulfil it (a bit each), and the logarithm of the number of its form."""

    condition: ParameterCondition
    cases: int
    log_forms: float


class _Box(Record):
    """A conjunction of tests and the set of cases that fulfil it."""

    tests: tuple[_Test, ...]
    cases: int


class _Table(Record):
    """The cases as sets of bits.

    Attributes:
        values: parameter → value → the cases that have it; parameters with one value only are left out.
        failing: the failing cases.
        every: all cases.
    """

    values: Mapping[str, Mapping[Any, int]]
    failing: int
    every: int

    @classmethod
    def of(cls, failing: Sequence[Parameters], passing: Sequence[Parameters]) -> _Table:
        cases = [*failing, *passing]
        values: dict[str, dict[Any, int]] = {}
        for name in cases[0]:
            sets = dict.fromkeys(ordered([case[name] for case in cases]), 0)
            for position, case in enumerate(cases):
                sets[case[name]] |= 1 << position
            if len(sets) > 1:
                values[name] = sets
        return cls(values, failing=(1 << len(failing)) - 1, every=(1 << len(cases)) - 1)

    def passes(self, cases: int) -> int:
        """Count the passing cases of a set."""
        return (cases & ~self.failing).bit_count()

    def covered(self, boxes: Sequence[_Box]) -> int:
        """Count the failing cases in some of the boxes."""
        return (_union(boxes) & self.failing).bit_count()

    def errors(self, boxes: Sequence[_Box]) -> int:
        """Count the cases that the boxes tell wrong."""
        return (_union(boxes) ^ self.failing).bit_count()

    def conditions(self, boxes: Sequence[_Box]) -> Conditions:
        alternatives = tuple(tuple(test.condition for test in box.tests) for box in boxes)
        return Conditions(alternatives, self.covered(boxes), self.passes(_union(boxes)))

    # --- boxes --------------------------------------------------------------------------------------------------------

    def box(self, failing: int) -> _Box | None:
        """The fewest conditions that hold for these cases and exclude the most passing ones; None without evidence."""
        tests = sorted(self._tests(failing), key=lambda test: self.passes(test.cases))[:_MOST_TESTS]
        best: tuple[int, int, float] | None = None
        chosen = None
        for count in range(1, MOST_CONDITIONS + 1):
            for picked in itertools.combinations(tests, count):
                if len({test.condition.parameter for test in picked}) < count:
                    continue
                cases = self.every
                for test in picked:
                    cases &= test.cases
                chance = self._chance(failing, cases, picked)
                score = (self.passes(cases), count, chance)
                most = CHANCE if cases == self.failing else CHANCE_OF_OTHERS
                if chance <= math.log(most) and (best is None or score < best):
                    best, chosen = score, _Box(picked, cases)
        if chosen is None:
            return None
        order = list(self.values)
        tests = sorted(chosen.tests, key=lambda test: order.index(test.condition.parameter))
        return _Box(tuple(tests), chosen.cases)

    def _chance(self, failing: int, cases: int, tests: Sequence[_Test]) -> float:
        """The logarithm of the corrected probability that cases drawn at random all fulfil the tests."""
        drawn = failing.bit_count()
        tried = math.log(math.comb(len(self.values), len(tests))) + sum(test.log_forms for test in tests)
        return _log_choose(cases.bit_count(), drawn) - _log_choose(self.every.bit_count(), drawn) + tried

    def _tests(self, failing: int) -> Iterator[_Test]:
        """The tightest tests that hold for these cases: of each parameter the values, and of numbers their range."""
        for name, sets in self.values.items():
            every = list(sets)
            held = [position for position, value in enumerate(every) if sets[value] & failing]
            chosen = {tuple(held)}
            if all(map(_is_number, every)):
                chosen.add(tuple(range(held[0], held[-1] + 1)))
            for positions in sorted(chosen):
                if len(positions) < len(every):
                    test = self._test(name, every, positions)
                    if len(test.condition.text) <= _MOST_CHARACTERS:
                        yield test

    def _test(self, name: str, every: Sequence[Any], positions: Sequence[int]) -> _Test:
        text, log_forms = _form(name, every, positions)
        values = tuple(every[position] for position in positions)
        cases = 0
        for value in values:
            cases |= self.values[name][value]
        return _Test(ParameterCondition(name, values, text), cases, log_forms)

    # --- decision tree ------------------------------------------------------------------------------------------------

    def leaves(self, cases: int, depth: int = MOST_ALTERNATIVES) -> list[int]:
        """The failing cases of each leaf of a decision tree in which most cases fail."""
        failing = cases & self.failing
        split = self._split(cases) if depth and failing and failing != cases else None
        if split is not None:
            return self.leaves(cases & split, depth - 1) + self.leaves(cases & ~split, depth - 1)
        if 2 * failing.bit_count() > cases.bit_count():
            return [failing]
        return []

    def _split(self, cases: int) -> int | None:
        """The test that lowers the Gini impurity of a set of cases most; None where none does."""
        best, chosen = self._impurity(cases) - 1e-9, None
        for sets in self.values.values():
            tests = list(sets.values())
            if all(map(_is_number, sets)):
                tests += itertools.islice(itertools.accumulate(tests, operator.or_), 1, len(tests) - 2)
            for test in tests:
                impurity = self._impurity(cases & test) + self._impurity(cases & ~test)
                if impurity < best:
                    best, chosen = impurity, test
        return chosen

    def _impurity(self, cases: int) -> float:
        """Gini impurity times the number of cases."""
        count, failing = cases.bit_count(), (cases & self.failing).bit_count()
        if not count:
            return 0.0
        return 2 * failing * (count - failing) / count


def _union(boxes: Sequence[_Box]) -> int:
    cases = 0
    for box in boxes:
        cases |= box.cases
    return cases


def _form(name: str, every: Sequence[Any], positions: Sequence[int]) -> tuple[str, float]:
    """A condition's text, and the logarithm of the number of conditions that have its form."""
    count, first, last = len(every), positions[0], positions[-1]
    values = [value_text(every[position]) for position in positions]
    if len(values) == 1:
        return f"{name} = {values[0]}", math.log(count)
    if all(map(_is_number, every)) and len(positions) == last - first + 1:
        below, top = value_text(every[first - 1]), values[-1]
        if last == count - 1:
            return f"{name} > {below}", math.log(2 * (count - 1))
        if first == 0:
            return f"{name} <= {top}", math.log(2 * (count - 1))
        return f"{below} < {name} <= {top}", math.log(count * (count - 1) / 2)
    if len(values) == count - 1:
        (missing,) = set(range(count)).difference(positions)
        return f"{name} != {value_text(every[missing])}", math.log(count)
    return f"{name} in {{{', '.join(values)}}}", count * math.log(2.0)


def _log_choose(of: int, drawn: int) -> float:
    """The logarithm of the binomial coefficient; of ≥ drawn."""
    return math.lgamma(of + 1) - math.lgamma(drawn + 1) - math.lgamma(of - drawn + 1)


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
    spaces = [_space(job, cases) for job, cases in jobs.items()]
    return tuple(space for space in spaces if space is not None)


def _space(job: str, cases: Sequence[Verdict]) -> ParameterSpace | None:
    """The summary of one job; None where no parameter has several values."""
    names = [name for name in cases[0].parameters if all(name in case.parameters for case in cases)]
    cases = _with_distinct_values(cases, names)
    values: dict[str, tuple[Any, ...]] = {}
    for name in names:
        distinct = ordered([case.parameters[name] for case in cases])
        if len(distinct) > 1:
            values[name] = tuple(distinct)
    if not values:
        return None
    ways: defaultdict[tuple[Status, str, int], list[Verdict]] = defaultdict(list)
    for case in cases:
        if case.status in ("differ", "fault", "timeout", "error"):
            fault = case.fault.kind if case.status == "fault" and case.fault is not None else ""
            ways[case.status, fault, case.exit_code].append(case)
    groups = []
    for (_, fault, _), failing in ways.items():
        if len(failing) >= MANY:
            groups.append(replace(_group(failing, cases, values, fault), is_only=len(ways) == 1))
    groups.sort(key=lambda group: -len(group.cases))
    return ParameterSpace(job, values, tuple(groups), _grid(cases, values, groups))


def _with_distinct_values(cases: Sequence[Verdict], names: Sequence[str]) -> Sequence[Verdict]:
    """The cases with text for the values of parameters that have booleans and numbers, for `True == 1`."""
    mixed = [name for name in names if len({isinstance(case.parameters[name], bool) for case in cases}) > 1]
    if not mixed:
        return cases
    distinct = []
    for case in cases:
        texts = {name: value_text(case.parameters[name]) for name in mixed}
        distinct.append(replace(case, parameters={**case.parameters, **texts}))
    return distinct


# --- groups of failures -----------------------------------------------------------------------------------------------


def _group(
    failing: Sequence[Verdict], cases: Sequence[Verdict], values: Mapping[str, Sequence[Any]], fault: str
) -> FailureGroup:
    status = failing[0].status
    others = [case for case in cases if _STAGES.get(case.status, -1) > _STAGES[status]]
    if status == "differ":
        others = [case for case in others if case.status == "pass"]
    known = find(_varying(failing, values), _varying(others, values))
    ranks = {}
    for name, distinct in values.items():
        ranks[name] = {value: rank / (len(distinct) - 1) for rank, value in enumerate(distinct)}
    simplest_first = sorted(failing, key=lambda case: _size(case, ranks))
    ran = sum(case.status != "skip" for case in cases)
    group = FailureGroup(
        status=status,
        fault=fault,
        cases=tuple(case.case for case in simplest_first),
        alternatives=(),
        covered=0,
        exceptions=0,
        compared=len(others),
        text=_text(known, len(failing), others, ran),
    )
    if known is None:
        return group
    return replace(group, alternatives=known.alternatives, covered=known.covered, exceptions=known.exceptions)


def _varying(cases: Sequence[Verdict], values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The parameters of each case, without those that have one value only."""
    return [{name: case.parameters[name] for name in values} for case in cases]


def _size(case: Verdict, ranks: Mapping[str, Mapping[Any, float]]) -> float:
    """The size of a case's parameters: the ranks of their values, each from 0 to 1, added up."""
    return sum(rank_of[case.parameters[name]] for name, rank_of in ranks.items())


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
            return f"all {failing} cases fail, so no parameter explains it"
        if not others:
            return "no case passes that the failing ones could be compared with"
        return f"no parameter values distinguish the {failing} failing cases from the {len(others)} others"
    shared = _alternatives_text(known.alternatives)
    text = f"every failing case has {shared}"
    if known.covered < failing:
        text = f"{known.covered} of {failing} failing cases have {shared}"
    if not known.exceptions:
        return text
    is_one = known.exceptions == 1
    if all(case.status == "pass" for case in others):
        verb = "passes" if is_one else "pass"
    else:
        verb = "does not fail in this way" if is_one else "do not fail in this way"
    if failing + len(others) < ran:
        return f"{text}; {plural(known.exceptions, 'such case')} {verb}"
    return f"{text}; {known.exceptions} of {known.covered + known.exceptions} such cases {verb}"


def _alternatives_text(alternatives: Sequence[Sequence[ParameterCondition]]) -> str:
    """`tile_x = 4 and block_x > 32`, or `(tile_x = 4 and block_x > 32) or n = 7`."""
    texts = []
    for conditions in alternatives:
        text = " and ".join(condition.text for condition in conditions)
        if len(conditions) > 1 and len(alternatives) > 1:
            text = f"({text})"
        texts.append(text)
    return " or ".join(texts)


# --- grid -------------------------------------------------------------------------------------------------------------


def _grid(
    cases: Sequence[Verdict], values: Mapping[str, Sequence[Any]], groups: Sequence[FailureGroup]
) -> ParameterGrid | None:
    """The grid over the first two parameters of the conditions, else over the first two that vary."""
    named: list[str] = []
    for group in groups:
        for conditions in group.alternatives:
            named += [condition.parameter for condition in conditions]
    axes = [name for name in dict.fromkeys((*named, *values)) if len(values[name]) <= MOST_COLUMNS][:2]
    if len(axes) < 2:
        return None
    x, y = sorted(axes, key=list(values).index)
    cells: defaultdict[tuple[Any, Any], Counter[str]] = defaultdict(Counter)
    for case in cases:
        cells[case.parameters[x], case.parameters[y]][case.status] += 1
    rows = [[dict(cells[column, row]) for column in values[x]] for row in values[y]]
    return ParameterGrid(x=x, y=y, x_values=tuple(values[x]), y_values=tuple(values[y]), rows=tuple(map(tuple, rows)))
