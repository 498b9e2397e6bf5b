"""Further runs of a case: the timing loop, and the run under the other poison."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress import launchlog
from gpuregress.dump import writer
from gpuregress.launchlog import LaunchLog
from gpuregress.records import (
    Case,
    CaseSettings,
    Outcome,
    PoisonComparison,
    PoisonDependence,
    TimingLoop,
    UnwrittenElements,
)
from gpuregress.runner import buffer_reader, run_case
from tests import fakes


def run(case: Case, folder: Path, known: Any = None) -> Outcome:
    with closing(LaunchLog(folder / "launch.log")) as log:
        return run_case(
            fakes.FakeDevice(),
            case,
            fakes.program(),
            log=log,
            first_launch=1,
            dumps=folder / "dumps",
            known=known or {},
        )


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
    begun = [e.number for e in launchlog.read(tmp_path / "launch.log").events if isinstance(e, launchlog.Begin)]
    assert begun == list(range(1, 17))
    assert case.launch_numbers == 16


def test_the_outputs_are_looked_at_again_after_the_timing_loop(tmp_path: Path) -> None:
    settings = CaseSettings(timing=TimingLoop(0, 3))
    same = run(fakes.case("double", settings=settings), tmp_path / "a")
    assert same.repeats["out"] == (same.dumps[0].digest,)
    other = run(fakes.case("count", settings=settings), tmp_path / "b")
    assert other.repeats["out"] != (other.dumps[0].digest,)
    assert other.observations.timing is not None
    assert other.observations.timing.run == 2
    assert Path(other.observations.repeat_dumps["out"]["2"]).read_text().splitlines()[1] == "4.0"


def test_two_poisons_prove_what_nobody_wrote(tmp_path: Path) -> None:
    outcome = run(fakes.case("double", settings=CaseSettings(poison="twice")), tmp_path)
    compared = outcome.observations.poison_twice["out"]
    assert compared == PoisonComparison(UnwrittenElements(1, 8, ((7, 8),)), None)
    whole = run(fakes.case("twice", settings=CaseSettings(poison="twice")), tmp_path / "b")
    assert whole.observations.poison_twice["out"] == PoisonComparison(None, None)


def test_a_result_that_depends_on_what_was_there_before_shows(tmp_path: Path) -> None:
    outcome = run(
        fakes.case("count", settings=CaseSettings(poison="twice")), tmp_path
    )  # stands for a kernel that reads its out
    assert outcome.observations.poison_twice["out"].shows == PoisonDependence(8, 8, 0)


def test_no_poison_where_a_tool_looks_for_reads_of_what_was_never_written(tmp_path: Path) -> None:
    outcome = run(fakes.case("double", settings=CaseSettings(poison="none")), tmp_path)
    assert Path(outcome.dumps[0].path).read_text().splitlines()[-1] == "0.0"


def test_a_large_buffer_is_dumped_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(fakes.case("double", count=1000), tmp_path / "a")
    monkeypatch.setattr(buffer_reader, "LARGE", 100)
    monkeypatch.setattr(buffer_reader, "PIECE", 128)
    monkeypatch.setattr(buffer_reader.BufferReader, "array", lambda _self: pytest.fail("read whole"))
    pieces = run(fakes.case("double", count=1000), tmp_path / "b")
    assert Path(pieces.dumps[0].path).read_bytes() == Path(whole.dumps[0].path).read_bytes()
    assert pieces.dumps[0].digest == whole.dumps[0].digest
    assert pieces.observations.unwritten == whole.observations.unwritten
    monkeypatch.setattr(writer, "DumpWriter", lambda *_a, **_k: pytest.fail("formatted again"))
    known = {"out": {whole.dumps[0].digest: whole.dumps[0].path}}
    copied = run(fakes.case("double", count=1000), tmp_path / "c", known)
    assert Path(copied.dumps[0].path).read_bytes() == np.fromfile(whole.dumps[0].path, np.uint8).tobytes()
