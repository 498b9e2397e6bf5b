"""Reads of wgmma until they are waited for: groups, waits of other warps, warpgroups."""

from __future__ import annotations

import pytest

from tests.checks.planted import detection

RACY = {
    "warpgroups_overwritten": "with no barrier after the wait for the wgmma",
    "warpgroups_wait_behind_write": "before the wgmma was waited for",
    "warpgroups_own_rows": "before the wgmma was waited for",
    "warpgroups_wait_for_one": "before the wgmma was waited for",
    "warpgroups_not_committed": "before the wgmma was waited for",
    "warpgroups_pipeline": "before the wgmma was waited for",
    "warpgroups_fence": "with no wgmma.fence before it",
    "warpgroups_release": "with no barrier after the wait for the wgmma",
}


@pytest.mark.parametrize("planted", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_write_races_with_a_product_until_a_thread_of_the_warpgroup_has_waited(planted: bool) -> None:  # noqa: FBT001
    names = tuple(RACY)
    for pair, said in detection.run("warpgroups", planted=planted, names=names, checks=("races",)):
        assert bool(said) == planted, pair.name
        assert all(item.kind == "race" and RACY[pair.name] in item.text for item in said), said
        assert len(said) <= 1, "one finding for each pair of lines"


def test_products_are_not_followed_where_races_are_not_looked_for() -> None:
    said = detection.run("warpgroups", planted=True, names=("warpgroups_pipeline",), checks=("uninitialized",))
    assert [findings for _, findings in said] == [()]
