from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.execution.runner import dumps
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.errors import FaultLocation, KernelFault, UnsupportedError
from gpuregress.foundation.records import (
    Argument,
    Buffer,
    CardFacts,
    Case,
    CaseSettings,
    CheckFinding,
    Costs,
    Coverage,
    FileCoverage,
    Fill,
    Instruments,
    Launch,
    NoOptions,
    Outcome,
    PoisonComparison,
    PoisonDependence,
    Source,
    TimingLoop,
    UnwrittenElements,
    from_json,
    to_json,
)
from gpuregress.gpu.base import DeviceModule, LaunchReport
from gpuregress.gpu.records import replace
from gpuregress.store import launch_log
from gpuregress.store.dumps import writer
from tests import fakes


def run(
    case: Case,
    folder: Path,
    device: fakes.FakeDevice | None = None,
    entering: Callable[[str], None] = lambda _phase: None,
    **more: Any,
) -> Outcome:
    return run_case(device or fakes.FakeDevice(), fakes.task(case, folder, 7, **more), entering)


def values(outcome: Outcome, at: int = 0) -> list[str]:
    return Path(outcome.dumps[at].path).read_text().splitlines()[1:]


def digests(outcome: Outcome) -> list[str]:
    """The digests of `out` after each repeat."""
    return [run.facts.digests["out"] for run in outcome.observations.along("repeat")]


@pytest.mark.parametrize("count", [2, 16, 17])
def test_an_input_that_a_launch_changes_is_noted_whatever_its_size(tmp_path: Path, count: int) -> None:
    case = fakes.case("twice", count=count)
    x = Argument("buffer", buffer="x")
    in_place = replace(case.launches[0], args=(x, x))
    overwritten = run(replace(case, launches=(in_place,)), tmp_path).observations.writes.overwritten
    assert list(overwritten) == ["x"]
    assert (overwritten["x"].elements, overwritten["x"].of, overwritten["x"].first) == (count - 1, count, 1)
    assert run(case, tmp_path).observations.writes.overwritten == {}


def test_it_fills_launches_reads_and_dumps(tmp_path: Path) -> None:
    outcome = run(fakes.case("double"), tmp_path)
    assert outcome.state == "done"
    assert values(outcome)[:7] == ["0.0", "2.0", "4.0", "6.0", "8.0", "10.0", "12.0"]
    assert set(outcome.inputs) == {"x"}
    assert [(time.number, time.kernel, time.elapsed_ms) for time in outcome.launches] == [(7, "double", 0.5)]
    assert outcome.resources == {"double": {"registers": 8, "shared": 0, "local": 0, "spill": 0}}


def test_each_launch_is_logged_before_it_happens(tmp_path: Path) -> None:
    seen: list[int] = []

    class Watching(fakes.FakeDevice):
        def launch(self, *arguments: Any) -> Any:
            seen.append(len(launch_log.read(tmp_path / "launch.log").unfinished))
            return super().launch(*arguments)

    run(fakes.case("double", "double"), tmp_path, Watching())
    assert seen == [1, 1]
    log = launch_log.read(tmp_path / "launch.log")
    assert [(type(event).__name__, event.number) for event in log.events] == [
        ("LaunchBegin", 7),
        ("LaunchEnd", 7),
        ("LaunchBegin", 8),
        ("LaunchEnd", 8),
    ]


def test_what_was_never_written_is_counted(tmp_path: Path) -> None:
    outcome = run(fakes.case("double"), tmp_path)
    assert values(outcome)[-1].startswith("nan")
    assert outcome.observations.writes.unwritten == {"out": UnwrittenElements(1, 8, ((7, 8),))}


def test_an_input_keeps_its_own_bytes_and_is_not_called_unwritten(tmp_path: Path) -> None:
    outcome = run(fakes.case("double", dump=("x",), compare={}), tmp_path)
    assert values(outcome)[:3] == ["0.0", "1.0", "2.0"]
    assert outcome.observations.writes.unwritten == {}


def test_a_fault_names_its_launch_in_outcome_and_log(tmp_path: Path) -> None:
    outcome = run(fakes.case("double", "fault"), tmp_path)
    assert outcome.state == "fault"
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.launch, outcome.fault.details) == ("out-of-bounds", 8, ("more",))
    assert outcome.fault.position == 1
    assert outcome.fault.location == FaultLocation("x", 9, elements=9, size=4)
    assert from_json(Outcome, json.loads(json.dumps(to_json(outcome)))).fault == outcome.fault
    assert not outcome.dumps
    log = launch_log.read(tmp_path / "launch.log")
    assert isinstance(log.events[-1], launch_log.LaunchFault)
    assert not log.unfinished


def test_an_outcome_describes_the_device_after_the_run(tmp_path: Path) -> None:
    class Lost(fakes.FakeDevice):
        def launch(self, *arguments: Any) -> Any:
            self.info = replace(self.info, card=CardFacts(sticky=True))
            return super().launch(*arguments)

    outcome = run(fakes.case("fault"), tmp_path, Lost())
    assert outcome.device is not None
    assert outcome.device.card == CardFacts(sticky=True)


def test_a_status_that_is_not_zero_is_a_fault_of_the_last_launch(tmp_path: Path) -> None:
    buffers = {**fakes.case("status").buffers, "out": Buffer("out", "int32", (8,))}
    fault = run(fakes.case("double", "status", status="out", buffers=buffers), tmp_path).fault
    assert fault is not None
    assert (fault.kind, fault.message, fault.position) == ("status", "out[2] = 7 (0x7)", 1)
    assert fault.location == FaultLocation("out", 2, elements=8)


class FailsLate(fakes.FakeDevice):
    """The third launch faults, which is of no case's own first run."""

    def launch(self, *arguments: Any) -> Any:
        if self.launched == 2:
            raise KernelFault("trap", "late")
        return super().launch(*arguments)


@pytest.mark.parametrize(
    "more",
    [{"repeat": 2}, {"settings": CaseSettings(timing=TimingLoop(1, 1))}, {"settings": CaseSettings(poison="twice")}],
)
def test_a_fault_after_the_cases_own_launches_is_of_none_of_them(tmp_path: Path, more: dict[str, Any]) -> None:
    outcome = run(fakes.case("double", "double", **more), tmp_path, FailsLate())
    assert outcome.fault is not None
    assert (outcome.fault.message, outcome.fault.launch, outcome.fault.position) == ("late", 9, None)


class Instrumented(fakes.FakeDevice):
    """It counts where it is asked to, also in a launch that a fault ends, and notes which programs are timed."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted, self.loaded = Instruments(), list[Instruments]()
        self.last: LaunchReport | None = None

    def instrument(self, wanted: Instruments) -> None:
        self.wanted = wanted

    def load(self, *arguments: Any) -> Any:
        self.loaded.append(self.wanted)
        return super().load(*arguments)

    def interrupted(self) -> LaunchReport | None:
        return self.last

    def launch(self, *arguments: Any) -> LaunchReport:
        found = Coverage((FileCoverage("k.cu", ((3, 8),)),))
        report = LaunchReport(0.5, coverage=found, costs=Costs(contention={"": 2}))
        self.last = report
        super().launch(*arguments)
        self.last = None
        return report


def test_a_launch_that_a_fault_ends_has_coverage(tmp_path: Path) -> None:
    (tmp_path / "k.cu").touch()
    source = Source(str(tmp_path / "k.cu"))
    settings = CaseSettings(instruments=Instruments(coverage=True, costs=True))
    for kernels, count in ((("double",), 8), (("fault",), 8), (("double", "fault"), 16)):
        case = fakes.case(*kernels, settings=settings, source=source)
        seen = run(case, tmp_path, Instrumented()).observations
        assert seen.instruments.coverage is not None
        assert seen.instruments.costs is not None
        assert [one.lines for one in seen.instruments.coverage.files] == [((3, count),)]
        assert seen.instruments.costs.uncounted == ("the launch ended with a fault" if "fault" in kernels else "")


def test_only_what_is_not_instrumented_is_timed(tmp_path: Path) -> None:
    device, counted = Instrumented(), Instruments(costs=True)
    settings = CaseSettings(instruments=counted, timing=TimingLoop(1, 2))
    outcome = run(fakes.case("double", settings=settings), tmp_path, device)
    assert outcome.observations.timing is not None
    assert (device.loaded, device.launched) == ([counted, Instruments()], 4)
    assert digests(outcome) == [outcome.dumps[0].digest]


def test_a_finding_is_a_fault_of_the_launch_in_which_it_came_first(tmp_path: Path) -> None:
    class Watched(fakes.FakeDevice):
        def launch(self, *arguments: Any) -> LaunchReport:
            report = super().launch(*arguments)
            found = CheckFinding("race", "data race", location="k.cu:3")
            return replace(report, findings=(found,) if self.launched > 1 else ())

    outcome = run(fakes.case("double", "double", "double"), tmp_path, Watched())
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.position, outcome.fault.details) == (
        "race",
        1,
        ("2 times at these lines",),
    )


def test_swap_exchanges_the_buffers_memory(tmp_path: Path) -> None:
    case = fakes.case("scale", "scale")
    args = (
        Argument("buffer", buffer="out"),
        Argument("buffer", buffer="x"),
        Argument("scalar", dtype="float32", data=np.float32(3).tobytes().hex(), text="3.0"),
        Argument("scalar", dtype="int32", data="08000000", text="8"),
    )
    launches = (Launch("scale", (1, 1, 1), (8, 1, 1), 0, args, (("out", "x"),)),) * 2
    outcome = run(replace(case, launches=launches), tmp_path)
    assert values(outcome) == [str(float(number)) if number else "0.0" for number in range(0, 24, 3)]


@pytest.mark.parametrize(("more", "told"), [({}, "unwritten"), ({"settings": CaseSettings(poison="twice")}, "poisons")])
def test_what_was_never_written_is_counted_where_the_launches_left_it(
    tmp_path: Path, more: dict[str, Any], told: str
) -> None:
    case = fakes.case("double", dump=("x", "out"), compare={}, **more)
    launches = (replace(case.launches[0], swap=(("out", "x"),)),)
    outcome = run(replace(case, launches=launches), tmp_path)
    of = outcome.observations.writes if told == "unwritten" else outcome.observations
    assert list(getattr(of, told)) == ["x"]
    assert outcome.observations.writes.unwritten["x"] == UnwrittenElements(1, 8, ((7, 8),))
    assert outcome.observations.writes.unchanged == ("out",)


def test_a_symbol_is_filled_and_keeps_its_bytes_where_it_has_no_fill(tmp_path: Path) -> None:
    class Preset(fakes.FakeDevice):
        def load(self, program: Any, threads: int | None = None, kernels: Any = None) -> Any:
            module = super().load(program, threads)
            module.memory.data.view(np.float32)[:] = 5.0
            return module

    case = fakes.case("double")
    table = Buffer("table", "float32", (16,), symbol="d_table")
    plain = replace(case, buffers={**case.buffers, "table": table}, dump=("table",), compare={})
    assert values(run(plain, tmp_path, Preset())) == ["5.0"] * 16
    filled = replace(plain, buffers={**case.buffers, "table": replace(table, fill=Fill("ones", NoOptions(), 1))})
    assert values(run(filled, tmp_path, Preset())) == ["1.0"] * 16


def test_a_symbol_smaller_than_its_buffer_is_an_error(tmp_path: Path) -> None:
    case = fakes.case("double")
    table = Buffer("table", "float32", (17,), symbol="d_table")
    outcome = run(replace(case, buffers={**case.buffers, "table": table}), tmp_path)
    assert outcome.state == "error"
    assert "68 bytes" in outcome.message
    assert "64" in outcome.message


def test_repeats_are_judged_by_digest_and_dumped_where_they_differ(tmp_path: Path) -> None:
    same = run(fakes.case("double", repeat=3), tmp_path)
    assert digests(same) == [same.dumps[0].digest] * 2
    assert [dict(run.dumps) for run in same.observations.runs] == [{}, {}]
    other = run(fakes.case("count", repeat=3), tmp_path)
    _, third = other.observations.along("repeat")
    assert third.name == "3"
    assert Path(third.dumps["out"].path).read_text().split()[-1] == "3.0"


def test_each_repeat_asks_for_another_order_and_says_which(tmp_path: Path) -> None:
    device = fakes.FakeDevice()
    assert run(fakes.case("double", repeat=3), tmp_path, device).observations.orders == ()
    device.varies = True
    assert run(fakes.case("double"), tmp_path, device).observations.orders == ()
    assert run(fakes.case("double", repeat=3), tmp_path, device).observations.orders == (
        "order 0",
        "order 1",
        "order 2",
    )
    reverse = fakes.case("double", repeat=2, settings=CaseSettings(schedules=("reverse",)))
    seen = run(reverse, tmp_path, device).observations
    assert (seen.orders, seen.schedule) == (("reverse", "reverse"), "reverse")
    timed = fakes.case("double", repeat=2, settings=CaseSettings(timing=TimingLoop(0, 1)))
    outcome = run(timed, tmp_path, device)
    assert outcome.observations.orders == ("order 0", "order 0", "order 1")
    assert [run.name for run in outcome.observations.along("repeat")] == ["2", "3"]


def test_a_known_dump_is_copied_not_formatted(tmp_path: Path) -> None:
    first = run(fakes.case("double"), tmp_path).dumps[0]
    known = tmp_path / "known.1"
    text = Path(first.path).read_text()
    known.write_text(text.replace("12.0", "12.00"))
    again = run(fakes.case("double"), tmp_path, known={"out": {first.digest: str(known)}})
    assert Path(again.dumps[0].path).read_text() == known.read_text()


def test_an_unsupported_instruction_is_an_error_with_its_class(tmp_path: Path) -> None:
    class Poor(fakes.FakeDevice):
        def load(self, program: Any, threads: int | None = None, kernels: Any = None) -> Any:
            raise UnsupportedError("wmma.load at kernel.cu:3")

    outcome = run(fakes.case("double"), tmp_path, Poor())
    assert (outcome.state, outcome.message) == ("error", "wmma.load at kernel.cu:3")
    assert outcome.observations.error == "UnsupportedError"


def test_the_device_is_left_empty_whatever_happened(tmp_path: Path) -> None:
    for kernel in ("double", "fault"):
        device = fakes.FakeDevice()
        run(fakes.case(kernel), tmp_path, device)
        assert not device.memories


def test_memory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    class Small(fakes.FakeDevice):
        def allocate(self, name: str, size: int, *, itemsize: int = 1) -> Any:
            raise MemoryError

    outcome = run(fakes.case("double"), tmp_path, Small())
    assert outcome.state == "error"
    assert "not enough memory" in outcome.message


def test_the_clock_covers_the_launches_only(tmp_path: Path) -> None:
    order: list[str] = []

    class Watching(fakes.FakeDevice):
        def load(self, program: Any, threads: int | None = None, kernels: Any = None) -> Any:
            order.append("load")
            return super().load(program, threads)

        def launch(self, module: DeviceModule, *arguments: Any) -> Any:
            order.append("launch")
            return super().launch(module, *arguments)

    run(fakes.case("double"), tmp_path, Watching(), entering=order.append)
    assert order == ["load", "launching", "launch", "saving"]


@pytest.mark.parametrize("label", ["", "cuda:3"])
def test_the_log_names_the_device_by_its_label(tmp_path: Path, label: str) -> None:
    run(fakes.case("double"), tmp_path, device_label=label)
    event = launch_log.read(tmp_path / "launch.log").events[0]
    assert isinstance(event, launch_log.LaunchBegin)
    assert event.device == (label or "cpu")


def test_a_device_is_told_how_many_threads_a_case_launches(tmp_path: Path) -> None:
    told: list[int | None] = []

    class Curious(fakes.FakeDevice):
        def load(self, program: Any, threads: int | None = None, kernels: Any = None) -> Any:
            told.append(threads)
            return super().load(program, threads)

    case = fakes.case("double")
    (launch,) = case.launches
    launches = (launch, replace(launch, grid=(2, 3, 1), block=(4, 5, 1)))
    run(replace(case, launches=launches), tmp_path, Curious())
    assert told == [math.prod(launch.grid) * math.prod(launch.block) + 120]


def test_two_poisons_prove_what_nobody_wrote(tmp_path: Path) -> None:
    outcome = run(fakes.case("double", settings=CaseSettings(poison="twice")), tmp_path)
    compared = outcome.observations.poisons["out"]
    assert compared == PoisonComparison(UnwrittenElements(1, 8, ((7, 8),)), None)
    whole = run(fakes.case("twice", settings=CaseSettings(poison="twice")), tmp_path / "b")
    assert whole.observations.poisons["out"] == PoisonComparison(None, None)


def test_a_result_that_depends_on_what_was_there_before_shows(tmp_path: Path) -> None:
    outcome = run(
        fakes.case("count", settings=CaseSettings(poison="twice")), tmp_path
    )  # stands for a kernel that reads its out
    assert outcome.observations.poisons["out"].shows == PoisonDependence(8, 8, 0)


def test_no_poison_where_a_tool_looks_for_reads_of_what_was_never_written(tmp_path: Path) -> None:
    outcome = run(fakes.case("double", settings=CaseSettings(poison="none")), tmp_path)
    assert Path(outcome.dumps[0].path).read_text().splitlines()[-1] == "0.0"


def test_a_large_buffer_is_dumped_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(fakes.case("double", count=1000), tmp_path / "a")
    monkeypatch.setattr(dumps, "LARGE", 100)
    monkeypatch.setattr(dumps, "PIECE", 128)
    monkeypatch.setattr(dumps.BufferReader, "array", lambda _self: pytest.fail("read whole"))
    pieces = run(fakes.case("double", count=1000), tmp_path / "b")
    assert Path(pieces.dumps[0].path).read_bytes() == Path(whole.dumps[0].path).read_bytes()
    assert pieces.dumps[0].digest == whole.dumps[0].digest
    assert pieces.observations.writes.unwritten == whole.observations.writes.unwritten
    monkeypatch.setattr(writer, "DumpWriter", lambda *_a, **_k: pytest.fail("formatted again"))
    known = {"out": {whole.dumps[0].digest: whole.dumps[0].path}}
    copied = run(fakes.case("double", count=1000), tmp_path / "c", known=known)
    assert Path(copied.dumps[0].path).read_bytes() == np.fromfile(whole.dumps[0].path, np.uint8).tobytes()
