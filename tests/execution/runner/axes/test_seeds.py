from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Buffer, Fill, Interval, Outcome, Seeded
from gpuregress.gpu.records import replace
from gpuregress.jobs import inputs
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin
from tests import fakes

SEEDS = tuple(Seeded(seed, {"x": Fill("uniform", Interval(0, 1), seed)}) for seed in (43, 44, 45))


class FaultsOnce(fakes.FakeDevice):
    """The second launch, which is that of the first further seed, ends with a fault."""

    sticky = False

    def launch(self, *arguments: Any) -> Any:
        if self.launched == 1:
            self.launched += 1
            raise KernelFault("trap", "it trapped", sticky=self.sticky)
        return super().launch(*arguments)


def run(folder: Path, device: fakes.FakeDevice) -> Outcome:
    case = replace(fakes.case("twice"), seeds=SEEDS)
    return run_case(device, fakes.task(case, folder))


def test_each_seed_runs_on_its_own_inputs_and_is_dumped_and_logged(tmp_path: Path) -> None:
    runs = run(tmp_path, fakes.FakeDevice()).observations.along("seed")
    assert [run.name for run in runs] == ["43", "44", "45"]
    for one, seeded in zip(runs, SEEDS, strict=True):
        expected = 2 * inputs.fill(Buffer("x", "float32", (8,), seeded.fills["x"]))
        path = Path(one.dumps["out"].path)
        assert [np.float32(line) for line in path.read_text().splitlines()[1:]] == expected.tolist()
        assert path.is_relative_to(tmp_path / f"dumps/seed-{one.name}")
    begun = [event for event in launch_log.read(tmp_path / "launch.log").events if isinstance(event, LaunchBegin)]
    assert [event.seed for event in begun] == [42, 43, 44, 45]


def test_a_fault_under_one_seed_does_not_end_the_others(tmp_path: Path) -> None:
    runs = run(tmp_path, FaultsOnce()).observations.along("seed")
    assert [(run.name, run.fault, list(run.dumps)) for run in runs] == [
        ("43", "trap: it trapped", []),
        ("44", "", ["out"]),
        ("45", "", ["out"]),
    ]


def test_after_a_lost_device_no_further_seed_runs(tmp_path: Path) -> None:
    device = FaultsOnce()
    device.sticky = True
    outcome = run(tmp_path, device)
    assert outcome.observations.sticky
    assert device.launched == 2
    first, *others = outcome.observations.along("seed")
    assert first.fault == "trap: it trapped"
    assert [run.left_out for run in others] == ["an earlier seed lost the device"] * 2
