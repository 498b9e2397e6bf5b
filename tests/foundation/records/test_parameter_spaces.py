from __future__ import annotations

from gpuregress.foundation.records import FailureGroup, ParameterCondition
from gpuregress.gpu.records import replace

GROUP = FailureGroup("differ", "", ("a", "b"), (), 0, 0, 8, "no parameter values distinguish")


def test_a_fault_has_its_kind_in_the_way_of_failing() -> None:
    assert (GROUP.way, replace(GROUP, status="fault", fault="trap").way) == ("differ", "fault (trap)")


def test_one_case_stands_for_all_that_share_values_or_have_nothing_to_be_compared_with() -> None:
    assert not GROUP.is_alike
    assert replace(GROUP, alternatives=((ParameterCondition("n", (1,), "n = 1"),),)).is_alike
    assert replace(GROUP, compared=0).is_alike
