from __future__ import annotations

import pytest

from gpuregress.errors import Interrupted
from gpuregress.records import Program, Source
from gpuregress.session.compilation.builder import ProgramBuilder
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
