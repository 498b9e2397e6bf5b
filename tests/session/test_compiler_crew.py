from __future__ import annotations

import os

import pytest

from gpuregress.execution.workers.compiler_pool import process_count
from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.records import Program, Source
from gpuregress.session.compilation import ProgramBuilder
from tests import fakes
from tests.session.compilation.crews import InProcessCrew, case_of


def test_an_interrupt_leaves_the_rest_uncompiled() -> None:
    compiled: list[str] = []

    def counting(source: Source) -> Program:
        compiled.append(source.path)
        return fakes.program()

    def check() -> None:
        if compiled:
            raise Interrupted("interrupted")

    crew = InProcessCrew(counting, check)
    with pytest.raises(Interrupted):
        ProgramBuilder(crew, lambda _event: None).compile([case_of(str(one), f"/{one}.cu") for one in range(5)])
    assert len(compiled) == 1


def test_as_many_processes_compile_as_there_are_cores_and_eight_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, processes in ((1, 1), (3, 3), (64, 8)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid, count=cores: set(range(count)))
        assert process_count() == processes
