"""Tests of the records of dynamic checks."""

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import CHECKS, CheckFinding, Instruments, checks_named, from_json, to_json


@pytest.mark.parametrize("some", [{"checks": ("races",)}, {"costs": True}, {"coverage": True}])
def test_any_of_them_is_noticed(some: dict[str, object]) -> None:
    assert not Instruments().any
    assert Instruments(**some).any  # type: ignore[arg-type]  # each field has its own type


def test_they_survive_json_and_take_no_space_by_default() -> None:
    wanted = Instruments(tuple(CHECKS), costs=True)
    assert from_json(Instruments, to_json(wanted)) == wanted
    assert to_json(Instruments()) == {}
    finding = CheckFinding("race", "two writes", ("thread 1",), "a.cu:3", 2)
    assert from_json(CheckFinding, to_json(finding)) == finding


def test_checks_by_their_names() -> None:
    assert checks_named(["leaks,races", "races"], "--check") == ("races", "leaks")
    assert checks_named(["all"], "--check") == tuple(CHECKS)
    with pytest.raises(UsageError, match=r"--check: no check is called 'race': say races, uninitialized"):
        checks_named(["race"], "--check")
    with pytest.raises(UsageError, match=r"--check: a name is empty in 'races,'"):
        checks_named(["races,"], "--check")
