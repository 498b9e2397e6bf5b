from __future__ import annotations

import pytest

from gpuregress.execution.runner import execution
from gpuregress.foundation.errors import HarnessError, InfeasibleSource, LaunchRefused
from gpuregress.foundation.records import SM_90, Case, CaseSettings, DeviceInfo, Program
from gpuregress.gpu import limits
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cubin_linker
from tests import fakes

DEVICE = DeviceInfo("cpu", "fake", "sm_90", "none", 1 << 30, limits.of_architecture(SM_90))


def case(threads: int, *, skips: bool = True) -> Case:
    made = fakes.case("double")
    launch = replace(made.launches[0], block=(threads, 1, 1))
    settings = CaseSettings(infeasible="skip" if skips else None)
    return replace(made, launches=(launch,), settings=settings)


@pytest.fixture
def registers(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    used = {"registers": 128}
    monkeypatch.setattr(cubin_linker, "build_cubin", lambda program: program)
    mangled = fakes.program().entries["double"].mangled
    monkeypatch.setattr(cubin_linker, "resources", lambda _program: {mangled: used})
    return used


def test_too_many_registers_are_refused(registers: dict[str, int]) -> None:
    with pytest.raises(LaunchRefused, match="128 registers for each thread of 32 warps are 131072"):
        execution.check_registers(DEVICE, case(1024), [fakes.program()])
    registers["registers"] = 64
    execution.check_registers(DEVICE, case(1024), [fakes.program()])


def test_only_cases_that_may_be_skipped_and_large_blocks_are_looked_at(registers: dict[str, int]) -> None:
    execution.check_registers(DEVICE, case(1024, skips=False), [fakes.program()])
    registers["registers"] = 255
    execution.check_registers(DEVICE, case(256), [fakes.program()])
    execution.check_registers(replace(DEVICE, name="cuda:0"), case(1024), [fakes.program()])


def test_without_an_assembler_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_program: Program) -> Program:
        raise HarnessError("no assembler for GPU code here")

    monkeypatch.setattr(cubin_linker, "build_cubin", missing)
    execution.check_registers(DEVICE, case(1024), [fakes.program()])


def test_what_the_assembler_refuses_for_its_memory_is_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_program: Program) -> Program:
        raise InfeasibleSource("uses too much shared data")

    monkeypatch.setattr(cubin_linker, "build_cubin", refuse)
    with pytest.raises(InfeasibleSource):
        execution.check_registers(DEVICE, case(1024), [fakes.program()])
