from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.runner.dumps import DumpFolder
from gpuregress.execution.runner.launcher import Launcher
from gpuregress.execution.runner.seeds import SeedRuns
from gpuregress.foundation.records import Buffer, Fill, Interval, Seeded
from gpuregress.gpu.records import replace
from gpuregress.jobs import inputs
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin, LaunchLog
from tests import fakes

SEEDS = tuple(Seeded(seed, {"x": Fill("uniform", Interval(0, 1), seed)}) for seed in (43, 44))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LaunchLog]:
    with closing(LaunchLog(tmp_path / "launch.log")) as opened:
        yield opened


def runs(log: LaunchLog, folder: Path, kernel: str) -> SeedRuns:
    case = replace(fakes.case(kernel), seeds=SEEDS)
    launcher = Launcher(fakes.FakeDevice(), fakes.task(case, folder), log, lambda _phase: None)
    made = SeedRuns(launcher, DumpFolder(case, folder / "dumps"), inputs.fill)
    made.run({"x": np.zeros(8, np.float32)})
    return made


def test_each_seed_runs_on_its_own_inputs_and_is_dumped_and_logged(log: LaunchLog, tmp_path: Path) -> None:
    made = runs(log, tmp_path, "twice")
    assert [run.seed for run in made.runs] == [43, 44]
    for run, seeded in zip(made.runs, SEEDS, strict=True):
        expected = 2 * inputs.fill(Buffer("x", "float32", (8,), seeded.fills["x"]))
        path = Path(run.dumps["out"].path)
        assert [np.float32(line) for line in path.read_text().splitlines()[1:]] == expected.tolist()
        assert path.is_relative_to(tmp_path / f"dumps/seed-{run.seed}")
    begun = [event for event in launch_log.read(tmp_path / "launch.log").events if isinstance(event, LaunchBegin)]
    assert [event.seed for event in begun] == [43, 44]
    assert made.launcher.seed == 42


def test_the_first_fault_ends_them(log: LaunchLog, tmp_path: Path) -> None:
    made = runs(log, tmp_path, "fault")
    (run,) = made.runs
    assert run.fault.startswith("out-of-bounds: out-of-bounds read")
    assert made.sticky
