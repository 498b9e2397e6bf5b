from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.runner.axes import schedules
from gpuregress.execution.runner.axes.schedules import ScheduleSearch, Smallest, adversary, smallest
from gpuregress.foundation.records import Case, Conflict
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedule_names import NamedSchedule
from tests import fakes

CASE = fakes.case("double")


def case(blocks: int, threads: int = 32) -> Case:

    launch = replace(CASE.launches[0], grid=(blocks, 1, 1), block=(threads, 1, 1))
    return replace(CASE, launches=(launch,))


def is_before(name: str, first: int, second: int) -> bool:
    order = list(NamedSchedule(name).blocks(20) or range(20))
    return order.index(first) < order.index(second)


def searched(name: str, *conflicts: Conflict, first: int, second: int) -> Smallest | None:
    search = ScheduleSearch(case(20), lambda tried: {"out"} if is_before(tried, first, second) else set())
    return search.smallest(NamedSchedule(name), "out", conflicts)


LATE_FIRST = next(name for name in map("shuffled:{}".format, range(99)) if is_before(name, 9, 2))


@pytest.mark.parametrize("name", ["reverse", LATE_FIRST])
def test_a_conflict_is_the_switch(name: str) -> None:
    noise = [Conflict("blocks", at, at + 1, f"noise {at}") for at in range(19)]
    cause = Conflict("blocks", 2, 9, "a and b")
    found = searched(name, *noise, cause, first=9, second=2)
    assert found is not None
    assert (found.words, found.name) == ("running block 9 before block 2 is enough", "blocks:9,2")
    assert found.explains(cause)
    assert not found.explains(noise[0])


def test_without_conflicts_the_ends_of_a_chain_are_the_switch() -> None:
    found = searched("reverse", first=9, second=2)
    assert found is not None
    assert found.name == "blocks:9,2"


def test_an_order_of_which_all_is_needed_is_told_as_such() -> None:
    def differing(name: str) -> set[str]:
        return {"out"} if all(is_before(name, at + 1, at) for at in range(8)) else set()

    found = ScheduleSearch(case(20), differing).smallest(NamedSchedule("reverse"), "out", ())
    assert found is not None
    assert found.words == "the order of the blocks (8 switches) is enough"


def test_a_search_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "SWITCH_TRIALS", 4)
    found = searched("reverse", first=9, second=2)
    assert found is not None
    assert found.words.endswith("is enough (4 runs tried; fewer switches may be)")


def test_the_usual_order_run_by_warps_is_tried_first() -> None:
    search = ScheduleSearch(case(4), lambda _name: {"out"})
    found = search.smallest(NamedSchedule("reverse"), "out", ())
    assert found is not None
    assert (found.name, search.trials) == ("by-warp", 1)
    assert search.smallest(NamedSchedule("lockstep"), "out", ()) is None


def test_nothing_is_found_where_nothing_is_enough() -> None:
    assert ScheduleSearch(case(4), lambda _name: set()).smallest(NamedSchedule("reverse"), "out", ()) is None


def test_the_adversary_exchanges_each_pair_once_and_has_copies_arrive_early() -> None:
    pairs = [("blocks", 0, 3), ("blocks", 0, 3), ("warps", 1, 2), ("threads", 5, 4), ("", 0, 1), ("copies", 0, 0)]
    switches = adversary([Conflict(part, first, later, "a") for part, first, later in pairs])
    assert [str(one) for one in switches] == ["blocks:3,0", "warps:2,1", "copies:issue"]


@given(st.integers(1, 60), st.sets(st.integers(0, 59), min_size=1, max_size=4))
def test_what_is_needed_is_found_and_nothing_else(count: int, needed: set[int]) -> None:
    changes = range(max(count, *(one + 1 for one in needed), 1))
    assert smallest(changes, lambda tried: needed <= set(tried)) == sorted(needed)


@given(st.sets(st.sets(st.integers(0, 19), min_size=1, max_size=3).map(frozenset), min_size=1, max_size=4))
def test_no_change_of_the_subset_can_be_left_out(causes: set[frozenset[int]]) -> None:
    def fails(tried: Sequence[int]) -> bool:
        return any(cause <= set(tried) for cause in causes)

    found = smallest(range(20), fails)
    assert fails(found)
    assert not any(fails([one for one in found if one != left]) for left in found if len(found) > 1)


def test_the_smallest_one_so_far_is_returned_when_no_more_are_tried() -> None:
    tried = list[list[int]]()

    def fails(subset: Sequence[int]) -> bool | None:
        tried.append(list(subset))
        return None if len(tried) > 1 else 7 in subset

    assert smallest(range(8), fails) == list(range(8))
    assert len(tried) == 2
