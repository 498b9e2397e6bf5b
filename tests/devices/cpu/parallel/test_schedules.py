from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.devices.cpu.parallel.schedules import NamedSchedule
from gpuregress.devices.cpu.runtime.machine_layout import AT_ANY_WAIT, AT_ONCE, LATEST
from gpuregress.records.instrumentation import schedules

NAMES = st.one_of(
    st.sampled_from(["forward", "reverse", "lockstep"]),
    st.integers(0, 10**18 - 1).map(lambda seed: f"shuffled:{seed}"),
)


@given(NAMES, st.integers(1, 1024), st.integers(1, 300))
def test_every_thread_and_block_runs_once_and_warps_stay_together(name: str, threads: int, total: int) -> None:
    schedule = NamedSchedule(name)
    order = schedule.threads(threads).tolist()
    assert sorted(order) == list(range(threads))
    warps = [number // 32 for number in order]
    assert len([at for at in range(1, threads) if warps[at] != warps[at - 1]]) == len(set(warps)) - 1
    blocks = schedule.blocks(total)
    assert blocks is None or sorted(blocks) == list(range(total))


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


def test_a_part_of_a_schedule_leaves_the_others_as_they_are() -> None:
    def of(part: str) -> tuple[list[int], list[int], int]:
        schedule = NamedSchedule(schedules.part_of("reverse", part))
        return list(schedule.blocks(3) or range(3)), schedule.threads(64)[[0, 1, 32]].tolist(), schedule.arrival

    usual = ([0, 1, 2], [0, 1, 32], LATEST)
    assert of(schedules.NOTHING) == usual
    assert of("blocks") == ([2, 1, 0], *usual[1:])
    assert of("warps") == (usual[0], [32, 33, 0], LATEST)
    assert of("lanes") == (usual[0], [31, 30, 63], LATEST)
    assert of("copies") == (*usual[:2], AT_ONCE)
    assert not NamedSchedule(schedules.part_of("reverse", schedules.NOTHING)).is_usual


def test_a_switch_exchanges_two_neighbours() -> None:
    assert list(NamedSchedule(schedules.switch_of("blocks", 1)).blocks(4) or ()) == [0, 2, 1, 3]
    assert NamedSchedule(schedules.switch_of("lanes", 2)).threads(5).tolist() == [0, 1, 3, 2, 4]
    warps = NamedSchedule(schedules.switch_of("warps", 0)).threads(96)
    assert warps[[0, 32, 64]].tolist() == [32, 0, 64]
    assert NamedSchedule(schedules.switch_of("warps", 5)).threads(4).tolist() == [0, 1, 2, 3]


def test_copies_arrive_at_each_of_the_three_times() -> None:
    assert [NamedSchedule(name).arrival for name in ("forward", "reverse", "lockstep")] == [LATEST, AT_ONCE, LATEST]
    assert {NamedSchedule(f"shuffled:{seed}").arrival for seed in range(1, 4)} == {LATEST, AT_ONCE, AT_ANY_WAIT}
