from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.runtime.checks import findings, layout
from gpuregress.virtual_gpu.runtime.checks.findings import ConflictLog
from gpuregress.virtual_gpu.runtime.machine_layout import REGION_SHIFT


def epoch(stamp: int, thread: int) -> int:
    return stamp << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT


def logged(*reports: tuple[int, int, int]) -> list[tuple[str, int, int]]:
    """The conflicts of reports (kind, epoch, other epoch), where stamp 10 B + … is of block B, two to a cluster."""
    log = ConflictLog(lambda stamp: stamp // 10, lambda block: block // 2)
    for kind, later, earlier in reports:
        log.add(kind, 0, later, earlier)
    return [(one.part, one.earlier, one.later) for one in log.all(lambda *_report: ("", "", ""))]


def test_the_widest_part_that_differs_is_what_orders_two_accesses() -> None:
    assert logged((layout.RACE, epoch(50, 0), epoch(10, 0))) == [("blocks", 0, 2)]
    assert logged((layout.RACE, epoch(11, 70), epoch(10, 3))) == [("warps", 0, 2)]
    assert logged((layout.ORDERED_BY_LUCK, epoch(11, 35), epoch(10, 33))) == [("threads", 33, 35)]
    assert logged((layout.UNARRIVED, epoch(11, 5), epoch(10, 5))) == [("copies", 0, 0)]
    assert logged((layout.RACE, epoch(10, 0), epoch(0, 0))) == [("", 0, 0)]


def test_each_pair_is_kept_once_and_their_number_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "MOST_PAIRS", 2)

    def kept(*blocks: int) -> tuple[int, bool]:
        log = ConflictLog(lambda stamp: stamp, lambda block: block)
        for later in blocks:
            log.add(layout.RACE, 0, epoch(later, 0), epoch(0, 0))
        return len(log.all(lambda *_report: ("", "", ""))), log.is_cut

    assert kept(1, 1, 2, 2) == (2, False)
    assert kept(1, 2, 3, 1) == (2, True)


def test_a_pair_is_kept_for_each_buffer() -> None:
    log = ConflictLog(lambda stamp: stamp, lambda block: block)
    for address in (1 << REGION_SHIFT, 1 << REGION_SHIFT | 4, 2 << REGION_SHIFT):
        log.add(layout.RACE, address, epoch(1, 0), epoch(0, 0))
    found = log.all(lambda _kind, address, *_: ("", "", f"{'ab'[(address >> REGION_SHIFT) - 1]}[0]"))
    assert [(one.part, one.memory) for one in found] == [("blocks", "a"), ("blocks", "b")]
