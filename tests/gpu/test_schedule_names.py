from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.gpu import schedules
from gpuregress.gpu.schedule_names import NamedSchedule, switched
from gpuregress.gpu.schedules import AT_ANY_WAIT, AT_ISSUE, AT_WAIT, BY_WARP, named

NAMES = st.one_of(
    st.sampled_from(["forward", "reverse", "lockstep", "by-warp", "blocks:5,0+warps:2,1+threads:7,3+copies:wait"]),
    st.integers(0, 10**18 - 1).map(lambda seed: f"shuffled:{seed}"),
)
PAIRS = st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda pair: pair[0] > pair[1])


@given(NAMES, st.integers(1, 1024), st.integers(1, 300))
def test_every_thread_and_block_runs_once_and_warps_stay_together(name: str, threads: int, total: int) -> None:
    schedule = NamedSchedule(name)
    order = schedule.threads(threads).tolist()
    assert sorted(order) == list(range(threads))
    warps = [number // 32 for number in order]
    assert len([at for at in range(1, threads) if warps[at] != warps[at - 1]]) == len(set(warps)) - 1
    blocks = schedule.blocks(total)
    assert blocks is None or sorted(blocks) == list(range(total))


@given(NAMES, st.integers(1, 200), st.integers(1, 40))
def test_the_chain_of_an_order_spells_it(name: str, threads: int, total: int) -> None:
    schedule = NamedSchedule(name)
    spelled = [*schedule.chain("warps", threads), *schedule.chain("threads", threads), *schedule.chain("copies", 1)]
    same = NamedSchedule(named([*schedule.chain("blocks", total), *spelled]))
    assert not schedules.problem(same.name)
    assert list(same.blocks(total) or range(total)) == list(schedule.blocks(total) or range(total))
    assert same.threads(threads).tolist() == schedule.threads(threads).tolist()
    assert same.arrival == schedule.arrival


@given(st.integers(1, 30), st.sets(PAIRS))
def test_switches_hold_and_every_number_is_there_once(total: int, pairs: set[tuple[int, int]]) -> None:
    order = switched(total, list(pairs))
    assert sorted(order) == list(range(total))
    assert all(order.index(first) < order.index(second) for first, second in pairs if first < total)


def test_a_number_is_moved_to_the_place_before_the_other_one() -> None:
    assert switched(6, [(5, 0)]) == [5, 0, 1, 2, 3, 4]
    assert switched(4, [(1, 0), (3, 2)]) == [1, 0, 3, 2]
    assert switched(4, [(3, 0), (2, 0), (3, 2)]) == [3, 2, 0, 1]
    assert switched(2, [(7, 0)]) == [0, 1]
    assert switched(50_000, [(at + 1, at) for at in range(49_999)])[:2] == [49_999, 49_998]


def test_the_permutations_of_a_seed_are_the_same_everywhere() -> None:
    # A stored report names the seed: these numbers must never change.
    schedule = NamedSchedule("shuffled:3")
    assert list(schedule.blocks(8) or ()) == [3, 1, 2, 6, 0, 7, 5, 4]
    assert schedule.threads(96)[::32].tolist() == [17, 90, 33]
    assert NamedSchedule("shuffled:4").blocks(8) != schedule.blocks(8)


def test_the_named_orders() -> None:
    assert NamedSchedule("forward").is_usual
    assert list(NamedSchedule("reverse").blocks(3) or ()) == [2, 1, 0]
    assert NamedSchedule("reverse").threads(3).tolist() == [2, 1, 0]
    assert NamedSchedule("lockstep").is_in_step
    assert NamedSchedule("lockstep").blocks(3) is None
    assert NamedSchedule(BY_WARP).blocks(3) is None
    assert not NamedSchedule(BY_WARP).is_usual


def test_copies_arrive_at_each_of_the_three_times() -> None:
    assert [NamedSchedule(name).arrival for name in ("forward", "reverse", "lockstep")] == [AT_WAIT, AT_ISSUE, AT_WAIT]
    assert {NamedSchedule(f"shuffled:{seed}").arrival for seed in range(1, 4)} == {AT_WAIT, AT_ISSUE, AT_ANY_WAIT}
    assert NamedSchedule("copies:wait").arrival == AT_ANY_WAIT
