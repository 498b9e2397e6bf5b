"""The classes of determinism, and that a change of class is a difference."""

from __future__ import annotations

import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import determinism
from gpuregress.foundation.numeric.determinism import ObservedDeterminism
from tests.judge.compare.rooms import array


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (([1, 2, 3],), "bitwise"),
        (([1, 2, 3], [1, 2, 3]), "bitwise"),
        (([1, 2, 3], [1, 2, 3], [3, 2, 1]), "order varies"),
        (([1, 2, 2], [2, 1, 1]), "values vary"),
        (([0.0], [-0.0]), "values vary"),
    ],
)
def test_classes(runs: tuple[list[float], ...], expected: str) -> None:
    arrays = [array("float32", run) for run in runs]
    assert determinism.classify(dtypes.parse("float32"), arrays) == expected


def test_records_keep_their_parts_together() -> None:
    one, two = array("float2", [(1, 2), (3, 4)]), array("float2", [(1, 4), (3, 2)])
    assert determinism.classify(dtypes.parse("float2"), [one, two]) == "values vary"


def test_a_change_of_class_is_a_difference() -> None:
    assert determinism.compare(
        "x", ObservedDeterminism("order varies"), ObservedDeterminism("order varies"), 5, 10
    ).same
    for expected, actual in (("bitwise", "values vary"), ("values vary", "bitwise")):
        changed = determinism.compare("x", ObservedDeterminism(expected), ObservedDeterminism(actual), 5, 10)  # type: ignore[arg-type]  # words from a table
        assert not changed.same
        assert changed.message == f"over 5 runs: {actual}; the baseline: {expected}"


def test_fewer_orders_may_show_less() -> None:
    usual, more = ("usual", "usual"), ("usual", "blocks and threads reversed")
    assert determinism.compare(
        "x", ObservedDeterminism("values vary", more), ObservedDeterminism("bitwise", usual), 2, 10
    ).same
    assert not determinism.compare(
        "x", ObservedDeterminism("values vary", more), ObservedDeterminism("bitwise", more), 2, 10
    ).same
    worse = determinism.compare("x", ObservedDeterminism("bitwise"), ObservedDeterminism("values vary", more), 2, 10)
    assert not worse.same
    assert worse.message == ("over 2 runs: values vary (usual; blocks and threads reversed); the baseline: bitwise")
    assert worse.rule == "determinism: bitwise"
