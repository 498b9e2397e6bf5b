"""A project whose cases run on the fake device."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Case, Program, RunSummary, Source
from gpuregress.jobs import plan
from gpuregress.jobs.plan import Plan
from gpuregress.session import session
from gpuregress.session.events import Event
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project
from tests import fakes
from tests.session.crews import in_process

FAKE = (sys.executable, "-m", "tests.fake_worker")


@dataclass
class Bench:
    """A project in a temporary folder, with the cases a test gives it."""

    project: Project
    cases: Sequence[Case] = ()

    def run(self, *cases: Case, listen: Callable[[Event], None] = lambda _event: None, **request: Any) -> RunSummary:
        self.cases = cases
        with self.machinery():
            return session.run(
                self.project, Plan(cases), RunRequest(**{"device": "cpu", "jobs": 1, **request}), listen=listen
            )

    @contextlib.contextmanager
    def machinery(self) -> Iterator[None]:
        """The fake device and compiler; whatever is planned are the cases of the test."""
        machinery = Machinery(FAKE, in_process(self.compile))
        with mock.patch.object(session, "MACHINERY", machinery), mock.patch.object(plan, "make", self.plan):
            yield

    def plan(self, *_arguments: Any, **_options: Any) -> Plan:
        return Plan(tuple(self.cases))

    def compile(self, source: Source) -> Program:
        if "broken" in source.path:
            raise CompileError("broken.cu(3): error: expected a ';'")
        return fakes.program()


def words(summary: RunSummary) -> dict[str, str]:
    return {verdict.case: verdict.status for verdict in summary.verdicts}
