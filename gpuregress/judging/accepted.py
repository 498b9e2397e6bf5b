"""What was accepted for a run's cases: read once each, and known to the workers before they print a dump."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuregress import baselines, launchlog
from gpuregress.baselines import BaselineStore
from gpuregress.records import Baseline, Case, MadeOf, Outcome, Program


@dataclass(slots=True)
class AcceptedDumps:
    """The accepted dumps, for one kind of device.

    Args:
        store: the accepted dumps.
        kind: of the device, `cpu` or `cuda`, whose own baselines come first; "" where no device is known.
    """

    store: BaselineStore
    kind: str = ""
    _loaded: dict[str, Baseline | None] = field(default_factory=dict)

    def baseline(self, case: Case) -> Baseline | None:
        """What was accepted for a case, read once.

        Raises:
            BaselineError: it was cut short or edited.
        """
        if case.name not in self._loaded:
            self._loaded[case.name] = self.store.load(case.name, nearest(case, self.kind))
        return self._loaded[case.name]

    def known(self, case: Case) -> dict[str, dict[str, str]]:
        """For the worker: buffer → digest of raw bytes → the accepted dump that holds them.

        Raises:
            BaselineError: it was cut short or edited.
        """
        accepted = self.baseline(case)
        return {name: {dump.digest: dump.path} for name, dump in accepted.dumps.items()} if accepted else {}


def nearest(case: Case, kind: str) -> tuple[str, ...]:
    """Whose own baselines come before the common one, the nearest first: the device's, then the architecture's.

    Args:
        case: compiled for an architecture.
        kind: `cpu` or `cuda`, "" where no device is known.
    """
    return tuple(name for name in (kind, case.source.arch) if name)


def made_of(case: Case, outcome: Outcome, program: Program | None) -> MadeOf:
    """What decided a case's results."""
    calls = dict.fromkeys(launchlog.render(launch, case.buffers) for launch in case.launches)
    return baselines.made_of(case, outcome, program, tuple(calls))
