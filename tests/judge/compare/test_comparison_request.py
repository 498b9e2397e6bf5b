"""A request for one comparison."""

from __future__ import annotations

from gpuregress.foundation.records import Figures, Rule
from tests.judge.compare.rooms import request


def test_a_result_has_the_requests_buffer_and_size() -> None:
    wanted = request("float32", (2, 3), Rule(atol=1))
    assert wanted.total == 6
    result = wanted.result(same=False, rule="r", differing=4, figures=Figures(runs=2))
    assert (result.buffer, result.against, result.rule, result.of) == ("x", "baseline", "r", 6)
    assert (result.same, result.identical, result.differing, result.figures) == (False, False, 4, Figures(runs=2))
    assert wanted.result(same=True, rule="", of=5).of == 5
    assert request("float32", ()).total == 1
