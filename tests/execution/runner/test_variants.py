from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.runner.dumps import DumpFolder
from gpuregress.execution.runner.launcher import Launcher
from gpuregress.execution.runner.variants import VariantRuns
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import Dump, Program, VariantRun, Variants
from gpuregress.gpu.records import replace
from gpuregress.store.launch_log import LaunchLog
from tests import fakes

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LaunchLog]:
    with closing(LaunchLog(tmp_path / "launch.log")) as opened:
        yield opened


def runs(log: LaunchLog, folder: Path, kernel: str, **programs: str) -> VariantRuns:
    """The variants of a case; each program is told apart by the text of its PTX."""
    case = fakes.case(kernel)
    varied = Variants("first", dict.fromkeys(programs, case.sources))
    case = replace(case, variants=varied)

    def program(name: str, text: str) -> Program:
        path = folder / f"{name}.ptx"
        path.write_text(text)
        return replace(fakes.program(), ptx=str(path))

    task = fakes.task(case, folder, variants={name: (program(name, text),) for name, text in programs.items()})
    task = replace(task, program=program("own", "own"))
    launcher = Launcher(fakes.FakeDevice(), task, log, lambda _phase: None)
    own = DumpFolder(case, folder / "dumps").write("out", np.full(8, 1, np.float32), {})
    made = VariantRuns(launcher, DumpFolder(case, folder / "dumps"), (own,))
    made.run({"x": X})
    return made


def text_of(dump: Dump) -> list[str]:
    return Path(dump.path).read_text().splitlines()[1:3]


def test_only_results_that_differ_are_dumped(log: LaunchLog, tmp_path: Path) -> None:
    first, second = runs(log, tmp_path, "count", a="a", b="b").runs
    assert (first.name, dict(first.dumps), first.same_as) == ("a", {}, "")  # the first launch writes 1
    assert text_of(second.dumps["out"]) == ["2.0", "2.0"]
    assert Path(second.dumps["out"].path).is_relative_to(tmp_path / "dumps/variant-b")


def test_the_same_program_is_not_run(log: LaunchLog, tmp_path: Path) -> None:
    made = runs(log, tmp_path, "count", a="// another comment\nown")
    assert made.runs == [VariantRun("a", same_as="first")]
    assert made.launcher.current is None
    made = runs(log, tmp_path, "count", a="a", b=".target sm_80\na")
    assert [(run.name, run.same_as) for run in made.runs] == [("a", ""), ("b", "a")]


def test_after_a_lost_device_no_variant_runs(log: LaunchLog, tmp_path: Path) -> None:
    made = runs(log, tmp_path, "fault", a="a", b="b")
    assert made.sticky
    assert made.runs[0].fault.startswith("out-of-bounds: out-of-bounds read")
    assert made.runs[1].problem == "not run, for a variant before it lost the device"


def test_what_cannot_be_loaded_is_told(log: LaunchLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> None:
        raise DeviceError("too new")

    monkeypatch.setattr(fakes.FakeDevice, "load", load)
    assert runs(log, tmp_path, "count", a="a").runs[0].problem == "too new"
