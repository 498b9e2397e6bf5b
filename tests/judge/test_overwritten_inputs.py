"""Overwritten inputs by the facts of the job; real kernels are in `tests/integration`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuregress.foundation.records import (
    Buffer,
    Case,
    CaseSettings,
    Entry,
    Fill,
    NoOptions,
    Observations,
    Outcome,
    OverwrittenInput,
    Parameter,
    Program,
    Texture,
    WriteSurvey,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import overwritten_inputs
from tests import fakes


def setup(*, const: bool = False, dtype: str = "float32", **changes: Any) -> tuple[Case, list[Program]]:
    case = fakes.case("double", "twice")
    x = Buffer("x", dtype, (8,), Fill("ones", NoOptions(), 1))
    case = replace(case, buffers={**case.buffers, "x": x}, **changes)
    pointer, read_only = Parameter(8, 8, "pointer"), Parameter(8, 8, "pointer", const=const)
    entries = {name: Entry(name, (pointer, read_only)) for name in ("double", "twice")}
    return case, [replace(fakes.program(), entries=entries)]


def changed(expected: object, actual: object, dtype: str = "<f4") -> Outcome:
    sides = (np.array([value], dtype).tobytes().hex() for value in (expected, actual))
    observed = Observations(writes=WriteSurvey(overwritten={"x": OverwrittenInput(3, 8, 5, *sides)}))
    return Outcome("c", "done", observations=observed)


def test_a_pointer_to_const() -> None:
    comparison = overwritten_inputs.comparisons(*setup(const=True), changed(1, 7))["x"]
    assert (comparison.same, comparison.against, comparison.differing, comparison.of) == (False, "inputs", 3, 8)
    assert comparison.message == (
        "3 of 8 elements of this input were overwritten, the first [5]: 7.0, was 1.0; "
        "its parameter is a pointer to const (launch 1: double, launch 2: twice)"
    )


def test_an_input_that_a_kernel_may_write_is_no_failure() -> None:
    assert overwritten_inputs.comparisons(*setup(), changed(1, 7)) == {}
    assert overwritten_inputs.comparisons(*setup(const=True), Outcome("c", "done")) == {}


def test_unchanged_inputs_are_asked_for() -> None:
    case, programs = setup(settings=CaseSettings(inputs="unchanged"))
    assert "`inputs: unchanged`" in overwritten_inputs.comparisons(case, programs, changed(1, 7))["x"].message
    assert overwritten_inputs.comparisons(replace(case, dump=("x",)), programs, changed(1, 7)) == {}


def test_a_texture_is_never_written() -> None:
    case, programs = setup()
    x = replace(case.buffers["x"], texture=Texture())
    case = replace(case, buffers={**case.buffers, "x": x})
    assert "as a texture" in overwritten_inputs.comparisons(case, programs, changed(1, 7))["x"].message


def test_the_first_part_that_changed_is_shown() -> None:
    case, programs = setup(const=True, dtype="float2")
    comparison = overwritten_inputs.comparisons(case, programs, changed((1, 2), (1, 9), "f4,f4"))["x"]
    assert comparison.worst is not None
    assert (comparison.worst.index, comparison.worst.part) == (5, "y")
    assert (comparison.worst.expected, comparison.worst.actual) == ("2.0", "9.0")
