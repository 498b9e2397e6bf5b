"""Groups of cases that must agree: a verdict is held until all cases of its group have one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gpuregress.foundation.records import Case, Task, Verdict

Settled = tuple[Verdict, Task | None]
"""A verdict that is final, with the task that it is of; None where nothing ran."""
GroupJudge = Callable[[Sequence[Task], Sequence[Verdict], int], Sequence[Verdict]]
"""Tasks in the order of the plan, their own verdicts and the number of planned cases → the verdicts with the agreement.
The order in which cases end does not show in the verdicts."""


@dataclass(slots=True)
class _Group:
    """A group; infeasible cases do not count among the planned ones, for nobody waits for them."""

    planned: int
    open: set[str]
    held: list[tuple[Verdict, Task]] = field(default_factory=list)


class AgreementGroups:
    """The groups of a run.

    Args:
        cases: of the run.
        judge: judges the cases of one group against each other.
    """

    def __init__(self, cases: Iterable[Case], judge: GroupJudge) -> None:
        self._judge = judge
        self._groups: dict[tuple[str, ...], _Group] = {}
        self._of_case: dict[str, tuple[str, ...]] = {}
        self._positions: dict[str, int] = {}
        for position, case in enumerate(cases):
            self._positions[case.name] = position
            key = case.agreement_group
            if key is not None:
                self._of_case[case.name] = key
                self._groups.setdefault(key, _Group(0, set())).open.add(case.name)
        sizes = Counter(self._of_case.values())
        for key, group in self._groups.items():
            group.planned = sizes[key]

    def settle(self, reached: Verdict, task: Task | None) -> list[Settled]:
        """Take a verdict, and return those that are final now.

        Args:
            reached: the verdict on one case by itself.
            task: what ran; None where nothing did.
        """
        key = self._of_case.get(reached.case)
        if key is None:
            return [(reached, task)]
        group, settled = self._groups[key], list[Settled]()
        group.open.discard(reached.case)
        group.planned -= reached.infeasible
        if task is not None and reached.status in ("pass", "new"):
            group.held.append((reached, task))
        else:
            settled.append((reached, task))
        return settled if group.open else [*settled, *self._judged(group)]

    def close(self, *, judged: bool) -> list[Settled]:
        """Return the verdicts that are still held, for the run ends before their groups are whole.

        Args:
            judged: whether they are compared with each other; else they are as they were reached.
        """
        groups = [group for group in self._groups.values() if group.held]
        if judged:
            return [settled for group in groups for settled in self._judged(group)]
        held = [settled for group in groups for settled in group.held]
        for group in groups:
            group.held = []
        return [*held]

    def _judged(self, group: _Group) -> list[Settled]:
        held, group.held = sorted(group.held, key=lambda one: self._positions[one[0].case]), []
        tasks = [task for _, task in held]
        verdicts = self._judge(tasks, [reached for reached, _ in held], group.planned) if held else ()
        return list(zip(verdicts, tasks, strict=True))
