"""Global memory that bulk copies read and write: races, unwritten reads, reductions, what is not watched."""

from __future__ import annotations

import re

import pytest

from tests.checks.planted import detection

RACY = {
    "copies_global_source": "with no barrier between",
    "copies_global_proxy": "with no fence.proxy.async between",
    "copies_global_source_overwritten": "for the copy|before the copy was waited for",
    "copies_global_targets": r"asynchronous copy by thread \(32,0,0\)",
    "copies_global_wait_read": "before the copy was waited for",
    "copies_global_reduction": "in two blocks that nothing orders",
    "copies_global_tiles": "in two blocks that nothing orders",
    "copies_global_in_place": "with no wait for the copy",
    "copies_global_read_before": "with no barrier between",
}
UNWRITTEN = ("uninitialized_bulk_copy", "uninitialized_bulk_target")


@pytest.mark.parametrize("planted", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_copy_races_in_global_memory(planted: bool) -> None:  # noqa: FBT001
    for pair, said in detection.run("copies", planted=planted, names=tuple(RACY), checks=("races",)):
        assert bool(said) == planted, pair.name
        assert all(item.kind == "race" and re.search(RACY[pair.name], item.text) for item in said), said


@pytest.mark.parametrize("planted", [True, False])
@pytest.mark.parametrize("checks", [("uninitialized",), ("races", "uninitialized")])
def test_a_copy_reads_and_writes_what_counts_as_written(planted: bool, checks: tuple[str, ...]) -> None:  # noqa: FBT001
    for pair, said in detection.run("uninitialized", planted=planted, names=UNWRITTEN, checks=checks):
        assert [item.kind for item in said] == ["uninitialized"] * planted, pair.name


def test_races_are_not_reported_where_they_are_not_looked_for() -> None:
    said = detection.run("copies", planted=True, names=tuple(RACY), checks=("uninitialized",))
    assert not any(findings for _, findings in said)
