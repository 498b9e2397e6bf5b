"""Further trials of survivors, by the check of races and by traps that tell how far one comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.lab.mutating.mutants import Edit, Mutant
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.trials import Reason, TrialResult

RACES = "races"
RACE = "race"
"""The kind of fault that the check makes of a finding."""

Listener = Callable[[TrialResult | None], None]


class RaceChecks:
    """Trials of mutants with `--check races`, on the cases that pass it unchanged.

    Args:
        cases: of the subject.
        attempt: tries a variation, or finds its result, which it gives to the function.
    """

    def __init__(
        self, cases: Sequence[Case], attempt: Callable[[Variation, Callable[[TrialResult], None]], None]
    ) -> None:
        self._names = [case.name for case in cases if case.expect_fault is None]
        self._attempt = attempt
        self._passes: dict[str, bool] = {}
        self._waiting: deque[tuple[Variation, Listener]] = deque()
        self._is_started = False

    def check(self, variation: Variation, listen: Listener) -> None:
        """Try a variation with the check; `listen` is given its result, None where no unchanged case passes it."""
        self._waiting.append((variation, listen))
        if not self._is_started:
            self._is_started = True
            for number, name in enumerate(self._names):
                unchanged = Variation(f"races{number}", checks=(RACES,), cases=(name,))
                self._attempt(unchanged, partial(self._on_unchanged, name))
        self._go_on()

    def _on_unchanged(self, name: str, result: TrialResult) -> None:
        self._passes[name] = result.state == "survived"
        self._go_on()

    def _go_on(self) -> None:
        if len(self._passes) < len(self._names):
            return
        cases = tuple(name for name in self._names if self._passes[name])
        while self._waiting:
            variation, listen = self._waiting.popleft()
            if cases:
                name = f"{variation.name}-races"
                self._attempt(replace(variation, name=name, checks=(RACES,), cases=cases, is_compared=False), listen)
            else:
                listen(None)


Attempt = Callable[[str, Mutant, Sequence[Edit], Callable[[TrialResult], None]], None]
"""Tries edits of a mutant's file under a name, or finds the result, which it gives to the function."""


class SurvivorProbes:
    """Programs that trap at the place of a survivor, or where the change has another effect than the original.

    Args:
        attempt: runs one of them.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._is_executed: dict[int, bool] = {}
        self._infects: dict[int, bool] = {}

    def probe(self, number: int, mutant: Mutant) -> None:
        """Probe a survivor whose results are unchanged: first for an infection, which tells that it is reached, too."""
        if mutant.infection:
            self._attempt(f"i{number}", mutant, mutant.infection, partial(self._on_infection, number, mutant))
        else:
            self._probe_execution(number, mutant, 0)

    def reason(self, number: int) -> Reason:
        """Return the reason why a survivor lives, as far as it was probed."""
        if self._infects.get(number):
            return "another value, same results"
        if self._is_executed.get(number) is False:
            return "never executed"
        return "same value in every case" if number in self._infects else "no case noticed"

    def _on_infection(self, number: int, mutant: Mutant, result: TrialResult) -> None:
        is_met = _is_met(result)
        if is_met is not None:
            self._infects[number] = is_met
        if not is_met:
            self._probe_execution(number, mutant, 0)

    def _probe_execution(self, number: int, mutant: Mutant, attempt: int) -> None:
        if attempt < len(mutant.probes):
            listen = partial(self._on_execution, number, mutant, attempt)
            self._attempt(f"p{number}-{attempt}", mutant, mutant.probes[attempt], listen)

    def _on_execution(self, number: int, mutant: Mutant, attempt: int, result: TrialResult) -> None:
        is_met = _is_met(result)
        if is_met is None:
            self._probe_execution(number, mutant, attempt + 1)
        else:
            self._is_executed[number] = is_met


def _is_met(result: TrialResult) -> bool | None:
    """Whether a trap was executed; None where that is not known.

    A program with a trap may fail in another way: the compiler may round another expression than before, a busy machine
    may let it seem to hang.
    """
    if result.state in ("survived", "equal"):
        return False
    return True if result.fault == "trap" else None
