from __future__ import annotations

from gpuregress.foundation.records import (
    SWITCH_TRIALS,
    Argument,
    Buffer,
    Case,
    CaseSettings,
    Fill,
    Instruments,
    NoOptions,
    PythonFunction,
    TimingLoop,
    from_json,
    to_json,
)
from gpuregress.gpu.records import replace
from tests import fakes


def test_swaps_are_followed_back_to_the_first_launch() -> None:
    case = fakes.case("double", "double", "double")
    launch = replace(case.launches[0], swap=(("out", "x"),))
    case = replace(case, launches=(launch, launch, launch))
    assert {name: buffer.name for name, buffer in case.initial_buffers.items()} == {"x": "out", "out": "x"}


def test_log_numbers_of_a_case() -> None:
    assert fakes.case("double", repeat=3).launch_numbers == 3
    settings = CaseSettings(timing=TimingLoop(2, 5), poison="twice")
    assert fakes.case("double", "double", settings=settings).launch_numbers == 2 * (1 + 1 + 7)
    settings = CaseSettings(instruments=Instruments(accuracy=True), schedules=("forward", "reverse"))
    assert fakes.case("double", settings=settings).launch_numbers == 1 + 1 + 1 + 1 + SWITCH_TRIALS


def test_the_contents_of_another_buffer_travel_with_a_fill() -> None:
    origin = Buffer("x", "float32", (8,), Fill("python", PythonFunction("/f.py:f"), 1))
    case = fakes.case("double")
    buffers = {**case.buffers, "y": Buffer("y", "float64", (8,), Fill("same", NoOptions(), 2, origin))}
    case = replace(case, buffers=buffers)
    assert from_json(Case, to_json(case)) == case
    fills = [buffer.fill for buffer in case.buffers.values() if buffer.fill is not None]
    assert [fill.runs_user_code for fill in fills] == [False, True]


def test_own_buffers_are_those_of_launches_swaps_and_variables() -> None:
    case = fakes.case("double")
    struct = Argument("struct", fields=(Argument("buffer", buffer="a"),))
    launch = replace(case.launches[0], args=(struct, Argument("null")), swap=(("b", "c"),))
    buffers = {name: Buffer(name, "float32", (1,)) for name in "abcd"}
    buffers["e"] = Buffer("e", "float32", (1,), symbol="d_e")
    assert replace(case, buffers=buffers, launches=(launch,)).own_buffers == {"a", "b", "c", "e"}


def test_references_of_every_kind() -> None:
    case = fakes.case("double", reference={"a": "f"}, reference_files={"b": "g", "a": "g"})
    assert case.references == ("a", "b")
