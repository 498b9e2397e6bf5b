from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuregress.execution.runner import run_case
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import Dump, Outcome, Program, Variants
from gpuregress.gpu.base import DeviceModule, LaunchReport
from gpuregress.gpu.records import replace
from gpuregress.store import launch_log
from tests import fakes


def run(folder: Path, kernel: str, device: fakes.FakeDevice | None = None, **programs: str) -> Outcome:
    """Run a case with its variants; each program is told apart by the text of its PTX."""
    case = fakes.case(kernel)
    case = replace(case, variants=Variants("first", dict.fromkeys(programs, case.sources)))

    def program(name: str, text: str) -> Program:
        path = folder / f"{name}.ptx"
        path.write_text(text)
        return replace(fakes.program(), ptx=str(path))

    task = fakes.task(case, folder, variants={name: (program(name, text),) for name, text in programs.items()})
    return run_case(device or fakes.FakeDevice(), replace(task, program=program("own", "own")))


def text_of(dump: Dump) -> list[str]:
    return Path(dump.path).read_text().splitlines()[1:3]


def test_only_results_that_differ_are_dumped(tmp_path: Path) -> None:
    first, second = run(tmp_path, "twice", a="a", b="b").observations.along("variant")
    assert (first.dumps, second.dumps, first.facts.same_as) == ({}, {}, "")
    (changed,) = run(tmp_path, "count", a="a").observations.along("variant")
    assert text_of(changed.dumps["out"]) == ["2.0", "2.0"]
    assert Path(changed.dumps["out"].path).is_relative_to(tmp_path / "dumps/variant-a")


def test_the_same_program_is_not_run(tmp_path: Path) -> None:
    (same,) = run(tmp_path, "count", a="// another comment\nown").observations.along("variant")
    assert (same.facts.same_as, same.dumps) == ("first", {})
    assert len(launch_log.read(tmp_path / "launch.log").events) == 2
    runs = run(tmp_path, "count", a="a", b=".target sm_80\na").observations.along("variant")
    assert [(one.name, one.facts.same_as) for one in runs] == [("a", ""), ("b", "a")]


class FaultsLater(fakes.FakeDevice):
    """Every launch but the first one ends with a fault that loses the device."""

    def launch(self, module: DeviceModule, kernel: str, *rest: Any) -> LaunchReport:
        return super().launch(module, "fault" if self.launched else kernel, *rest)


def test_after_a_lost_device_no_variant_runs(tmp_path: Path) -> None:
    outcome = run(tmp_path, "double", FaultsLater(), a="a", b="b")
    assert outcome.observations.sticky
    first, second = outcome.observations.along("variant")
    assert first.fault.startswith("out-of-bounds: out-of-bounds read")
    assert second.left_out == "a variant before it lost the device"


def test_what_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    class Old(fakes.FakeDevice):
        def load(self, program: Program, *rest: object) -> fakes.FakeModule:
            if Path(program.ptx).stem == "a":
                raise DeviceError("too new")
            return super().load(program)

    (left_out,) = run(tmp_path, "count", Old(), a="a").observations.along("variant")
    assert left_out.left_out == "too new"
