"""A project whose cases run on the fake device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Case, Program, RunSummary, Source
from gpuregress.jobs.plan import Plan
from gpuregress.session import session
from gpuregress.session.events import Event
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project
from tests import fakes
from tests.session.compilation.crews import in_process

FAKE = (sys.executable, "-m", "tests.fake_worker")


@dataclass
class Bench:
    """A project in a temporary folder, with the cases a test gives it."""

    project: Project
    cases: Sequence[Case] = ()

    def run(self, *cases: Case, listen: Callable[[Event], None] = lambda _event: None, **request: Any) -> RunSummary:
        self.cases = cases
        return session.run(
            self.project,
            RunRequest(**{"device": "cpu", "jobs": 1, **request}),
            listen=listen,
            machinery=Machinery(FAKE, in_process(self.compile), self.plan),
        )

    def plan(self, *_arguments: Any, **_options: Any) -> Plan:
        return Plan(tuple(self.cases))

    def compile(self, source: Source) -> Program:
        if "broken" in source.path:
            raise CompileError("broken.cu(3): error: expected a ';'")
        return fakes.program()


def words(summary: RunSummary) -> dict[str, str]:
    return {verdict.case: verdict.status for verdict in summary.verdicts}
