from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.runner import recorder
from gpuregress.execution.runner.dumps import DumpFolder
from gpuregress.execution.runner.recorder import LaunchRecorder
from gpuregress.foundation.records import Case, CaseSettings, Entry, LaunchDigests, Parameter
from gpuregress.gpu.records import replace
from tests import fakes

POINTER, CONST = Parameter(8, 8, "pointer"), Parameter(8, 8, "pointer", const=True)


def recorded(case: Case, folder: Path = Path("/nowhere"), *, const: bool = True) -> LaunchDigests | None:
    """Record launches that write the numbers 1, 2, … to `out`."""
    entries = {"double": Entry("double", (POINTER, CONST if const else POINTER))}
    recorder = LaunchRecorder(case, [replace(fakes.program(), entries=entries)], DumpFolder(case, folder))
    memory = {name: fakes.FakeMemory(name, buffer.size, 0) for name, buffer in case.buffers.items()}
    for position, launch in enumerate(case.launches):
        memory["out"].write(np.full(8, position + 1, np.float32).view(np.uint8))
        recorder.after(position, launch, memory)
        for first, second in launch.swap:
            memory[first], memory[second] = memory[second], memory[first]
    return recorder.digests


def test_only_what_a_launch_may_write_is_read() -> None:
    digests = recorded(fakes.case("double", "double"))
    assert digests is not None
    assert {number: set(after) for number, after in digests.after.items()} == {"1": {"out"}, "2": {"out"}}
    assert digests.after["1"]["out"] != digests.after["2"]["out"]
    both = recorded(fakes.case("double", "double"), const=False)
    assert both is not None
    assert set(both.after["1"]) == {"out", "x"}


def test_one_launch_and_digests_that_are_off_take_none() -> None:
    assert recorded(fakes.case("double")) is None
    assert recorded(fakes.case("double", "double", settings=CaseSettings(launch_digests="off"))) is None


def test_swapped_buffers_are_called_as_before_the_first_launch() -> None:
    case = fakes.case("double", "double")
    first, second = case.launches
    case = replace(case, launches=(replace(first, swap=(("out", "x"),)), second))
    digests = recorded(case)
    assert digests is not None
    assert {number: set(after) for number, after in digests.after.items()} == {"1": {"out"}, "2": {"x"}}


@pytest.mark.parametrize(("name", "most"), [("MOST_RECORDED", 3), ("MOST_BYTES", 3 * 32)])
def test_many_launches_are_sampled(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, name, most)
    digests = recorded(fakes.case(*["double"] * 7))
    assert digests is not None
    assert (digests.launches, list(digests.after)) == (7, ["3", "6", "7"])


def test_every_launch_is_dumped(tmp_path: Path) -> None:
    settings = CaseSettings(dump_every_launch=True)
    case = fakes.case("double", "double", settings=settings, name="fake/n=1")
    recorded(case, tmp_path / "dumps")
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("out.*"))
    assert files == ["launches/0001/fake/n=1/out.1.4", "launches/0002/fake/n=1/out.1.4"]
