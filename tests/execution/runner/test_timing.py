"""Further runs of a case: the timing loop, and the run under the other poison."""

from __future__ import annotations

from pathlib import Path

from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.records import Case, CaseSettings, FurtherRun, Outcome, TimingLoop
from gpuregress.store import launch_log
from tests import fakes


def run(case: Case, folder: Path) -> Outcome:
    return run_case(fakes.FakeDevice(), fakes.task(case, folder))


def repeat(outcome: Outcome) -> FurtherRun:
    (run,) = outcome.observations.along("repeat")
    return run


def test_every_sample_is_kept_and_every_launch_logged(tmp_path: Path) -> None:
    case = fakes.case("double", "double", settings=CaseSettings(timing=TimingLoop(2, 5)))
    outcome = run(case, tmp_path)
    assert outcome.state == "done"
    timing = outcome.observations.timing
    assert timing is not None
    assert timing.samples_ms == (1.0,) * 5
    assert timing.kernels_ms == {"double": (1.0,) * 5}
    assert (timing.median_ms, timing.clock) == (1.0, "wall time of the launches")
    assert len(outcome.launches) == 2
    begun = [e.number for e in launch_log.read(tmp_path / "launch.log").events if isinstance(e, launch_log.LaunchBegin)]
    assert begun == list(range(1, 17))
    assert case.launch_numbers == 16


def test_the_outputs_are_looked_at_again_after_the_timing_loop(tmp_path: Path) -> None:
    settings = CaseSettings(timing=TimingLoop(0, 3))
    same = run(fakes.case("double", settings=settings), tmp_path / "a")
    assert repeat(same).facts.digests["out"] == same.dumps[0].digest
    other = run(fakes.case("count", settings=settings), tmp_path / "b")
    assert repeat(other).facts.digests["out"] != other.dumps[0].digest
    assert other.observations.timing is not None
    assert other.observations.timing.run == 2
    assert Path(repeat(other).dumps["out"].path).read_text().splitlines()[1] == "4.0"
