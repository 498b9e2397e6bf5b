"""Checks of a dump, with the inputs that they compare with."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Check, Fill, NoOptions
from gpuregress.gpu.records import replace
from gpuregress.judge import buffer_checks
from tests import fakes
from tests.judge.dumps import dump


def test_a_dump_is_checked(tmp_path: Path) -> None:
    compared = buffer_checks.check(fakes.case("double"), dump(tmp_path, "out.1", [1, 0, 3]), Check("nonzero", 3))
    assert (compared.buffer, compared.against, compared.same, compared.of) == ("out", "check", False, 3)
    assert compared.message == "nonzero: 2 of 3 are not 0, at least 3 must be"


def test_inputs_are_filled_when_a_check_needs_them(tmp_path: Path) -> None:
    case = fakes.case("double")
    x = replace(case.buffers["x"], fill=Fill("ones", NoOptions(), 1))
    case = replace(case, buffers={**case.buffers, "x": x})
    ones = dump(tmp_path, "out.1", [1] * 8)
    assert buffer_checks.check(case, ones, Check("equals", "x")).same
    assert "there is no input 'out'" in buffer_checks.check(case, ones, Check("equals", "out")).message
