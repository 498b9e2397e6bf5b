"""Accepted baselines of a run's cases, each read once and kept until its case has a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import field

from gpuregress.foundation.records import Baseline, Case, MadeOf, Outcome, Program
from gpuregress.gpu.records import MutableRecord
from gpuregress.store import baselines, launch_log, remote
from gpuregress.store.baselines import BaselineStore


class AcceptedDumps(MutableRecord):
    """The accepted dumps, for one kind of device.

    Args:
        store: the accepted dumps.
        kind: of the device, `cpu` or `cuda`, whose own baselines come first; "" where no device is known.
    """

    store: BaselineStore
    kind: str = ""
    _loaded: dict[str, Baseline | None] = field(default_factory=dict)

    def baseline(self, case: Case) -> Baseline | None:
        """The baseline of a case, None without one; an overridden case never has one, whatever lies in its folder.

        Raises:
            BaselineError: it was cut short or edited.
        """
        if case.settings.overridden:
            return None
        if case.name not in self._loaded:
            self._loaded[case.name] = self.store.load(case.name, nearest(case, self.kind))
        return self._loaded[case.name]

    def forget(self, case: str) -> None:
        """Free the baseline of a case that has its verdict: a night of thousands would keep them all."""
        self._loaded.pop(case, None)

    def known(self, case: Case) -> dict[str, dict[str, str]]:
        """Dumps that a worker copies instead of formatting: buffer → digest of raw bytes → accepted dump.

        Raises:
            BaselineError: it was cut short or edited.
        """
        accepted = self.baseline(case)
        dumps = accepted.dumps.items() if accepted else ()
        return {name: {dump.digest: dump.path} for name, dump in dumps if remote.is_local(dump)}


def nearest(case: Case, kind: str) -> tuple[str, ...]:
    """Names of specific baselines that come before the common one: the device's, then the architecture's.

    Args:
        case: compiled for an architecture.
        kind: `cpu` or `cuda`, "" if unknown.
    """
    return tuple(name for name in (kind, case.source.arch) if name)


def made_of(case: Case, outcome: Outcome, programs: Sequence[Program]) -> MadeOf:
    """The provenance of a case's results: source, inputs, compiler, device, launches."""
    return baselines.made_of(case, outcome, programs, launch_log.calls_of(case))
