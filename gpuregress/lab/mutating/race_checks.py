"""Data races of mutants whose results are right: a removed barrier, a plain atomic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.trials import TrialResult

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
