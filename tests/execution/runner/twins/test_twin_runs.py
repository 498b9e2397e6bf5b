from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.execution import runner
from gpuregress.execution.cuda import prerequisites
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import CaseSettings, Outcome, TwinResult
from gpuregress.gpu.records import replace
from tests import fakes
from tests.fakes import FakeDevice


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second device, on which the kernels are the same."""

    @contextlib.contextmanager
    def opened(name: str) -> Iterator[FakeDevice]:
        yield fakes.open_device(name)

    monkeypatch.setattr(registry, "open_device", opened)
    monkeypatch.setattr(prerequisites, "usable_gpus", lambda: 1)


def run(folder: Path, kernel: str) -> Outcome:
    case = replace(fakes.case(kernel), settings=CaseSettings(twins=("cuda",)))
    return runner.run_case(fakes.open_device("fake"), fakes.task(case, folder))


def only(outcome: Outcome) -> TwinResult:
    (twin,) = outcome.observations.twins
    return twin


@pytest.mark.usefixtures("other")
def test_a_twin_runs_the_same_launches_and_is_logged(tmp_path: Path) -> None:
    outcome = run(tmp_path, "double")
    twin = only(outcome)
    assert twin.dumps["out"].digest == outcome.dumps[0].digest
    assert Path(twin.dumps["out"].path).parts[-5:-3] == ("twins", "cuda")
    assert twin.device.endswith(")")
    log = (tmp_path / "launch.log").read_text()
    assert [line.split()[1] for line in log.splitlines() if line.startswith("begin")] == ["1", "2"]


class _Faulty(FakeDevice):
    def launch(self, *_: object) -> NoReturn:
        raise KernelFault("trap", "it trapped", sticky=True)


def test_a_fault_of_the_twin_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "open_device", lambda _name: contextlib.nullcontext(_Faulty()))
    monkeypatch.setattr(prerequisites, "usable_gpus", lambda: 1)
    outcome = run(tmp_path, "double")
    assert (outcome.state, outcome.fault, outcome.observations.sticky) == ("done", None, True)
    assert only(outcome).error == "failed with trap: it trapped"
    assert only(outcome).dumps == {}


def test_a_machine_without_a_gpu_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "usable_gpus", lambda: 0)
    monkeypatch.setattr(prerequisites, "lack", lambda: "no driver")
    twin = only(run(tmp_path, "double"))
    assert (twin.missing, twin.dumps) == ("there is no GPU here: no driver", {})
