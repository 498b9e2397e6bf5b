"""Traces of a launch: rows in chunks, and what is counted of them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gpuregress.virtual_gpu.instruments import exact_costs
from gpuregress.virtual_gpu.runtime.machine_layout import LOCAL_WINDOW, SHARED_WINDOW, Machine
from gpuregress.virtual_gpu.runtime.probe_sites import OTHER_BLOCK, Stretch, TracedAccess, TracedInstruction

CHAIN = (("k.cu", 3, 1),)
GLOBAL = 1 << 45


def _stretch(kind: str, access: str) -> Stretch:
    item = TracedInstruction(f"x.{kind}", kind, 7, 1, CHAIN)
    return Stretch("k", (item,), (TracedAccess(0, access, 4),))  # type: ignore[arg-type]


def _traced(stretch: Stretch, rows: list[tuple[int, int, int]]) -> dict[str, int]:
    machine = Machine()
    trace = exact_costs.WarpTrace(machine, [stretch])
    for row in rows:
        head = (ctypes.c_uint64 * 2).from_address(machine.trace)
        if head[0] >= head[1]:
            trace.full(machine.trace)
        (ctypes.c_uint64 * 3).from_address(head[0])[:] = list(row)
        head[0] += 8 * stretch.words
        if machine.trace_flush:
            trace.flush()
    (item,) = trace.costs().instructions
    assert (item.line, item.ptx_line, item.kind) == (3, 7, stretch.instructions[0].kind)
    return dict(item.counts)


def test_requests_are_counted_by_the_space_of_their_addresses() -> None:
    for start, name in ((GLOBAL, "global"), (LOCAL_WINDOW + 4096, "local"), (SHARED_WINDOW + 4096, "shared")):
        step = 0 if name == "local" else 4
        counts = _traced(_stretch("load.generic", "load"), [(32 + lane, 0, start + step * lane) for lane in range(32)])
        assert counts["instructions"] == counts[f"requests.{name}"] == 1
        assert counts.get("sectors", 0) == (0 if name == "shared" else 4)
        assert counts["bytes"] == 128


def test_contention_is_the_most_updates_of_one_address() -> None:
    machine = Machine()
    stretch = _stretch("atomic.global", "atomic")
    trace = exact_costs.WarpTrace(machine, [stretch])
    trace.full(machine.trace)
    rows = np.array([(32 + lane, 0, GLOBAL + 4 * (lane // 8)) for lane in range(32)], np.uint64)
    head = (ctypes.c_uint64 * 2).from_address(machine.trace)
    ctypes.memmove(head[0], rows.ctypes.data, rows.nbytes)
    head[0] += rows.nbytes
    costs = trace.costs()
    assert costs.contention == {"": 8}
    assert costs.instructions[0].counts["atomic_conflicts"] == 28


def test_many_rows_take_chunks_and_are_combined_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_costs, "FIRST_WORDS", 30)
    monkeypatch.setattr(exact_costs, "FLUSH_WORDS", 1000)
    rows = [(32 * way + lane, 0, GLOBAL + 4 * lane) for way in range(1, 60) for lane in range(32)]
    counts = _traced(_stretch("load.global", "load"), rows)
    # Here rows are combined in the middle of a warp's way, which compiled code never asks for.
    assert counts["thread_instructions"] == 59 * 32
    assert 59 <= counts["instructions"] < 70


def test_a_warp_with_too_many_rows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_costs, "FIRST_WORDS", 30)
    monkeypatch.setattr(exact_costs, "MOST_WORDS", 50)
    machine = Machine()
    trace = exact_costs.WarpTrace(machine, [_stretch("load.global", "load")])
    for _ in range(4):
        trace.full(machine.trace)
    assert "too many instructions" in trace.costs().uncounted


def test_bulk_copies_add_bytes_and_what_is_not_counted_is_told() -> None:
    machine = Machine()
    items = [
        TracedInstruction(name, "copy", at, 1, CHAIN, site, "sectors of bulk copies")
        for at, (name, site) in enumerate((("cp.async.bulk", 4), ("cp.async.bulk", 5)))
    ]
    trace = exact_costs.WarpTrace(machine, [Stretch("k", (item,), ()) for item in items])
    trace.full(machine.trace)
    head = (ctypes.c_uint64 * 2).from_address(machine.trace)
    (ctypes.c_uint64 * 2).from_address(head[0])[:] = [32, 0]
    head[0] += 16
    costs = trace.costs({4: 96}, ("k.cu:9",))
    assert [one.counts.get("bytes", 0) for one in costs.instructions] == [96, 0]
    assert costs.left_out == ("loops that wait for other threads (k.cu:9)", "sectors of bulk copies (k.cu:3)")


def test_another_blocks_shared_memory_has_no_conflicts_and_updates_by_cluster_share_no_word() -> None:
    def conflicts(mnemonic: str, start: int, step: int) -> int:
        item = TracedInstruction(mnemonic, "atomic.shared", 7, 1, CHAIN)
        stretch = Stretch("k", (item,), (TracedAccess(0, "atomic", 4),))
        counts = _traced(stretch, [(32 + lane, 0, start + step * lane) for lane in range(32)])
        assert counts["requests.cluster" if start & OTHER_BLOCK else "requests.shared"] == 1
        assert "sectors" not in counts
        return counts.get("bank_conflicts", 0)

    own, other = SHARED_WINDOW + 4096, (SHARED_WINDOW + 4096) | OTHER_BLOCK
    assert [conflicts("atom.shared.add.u32", own, step) for step in (0, 4, 8, 128)] == [0, 0, 1, 31]
    assert [conflicts("atom.shared::cluster.add.u32", own, step) for step in (0, 4, 8, 128)] == [31, 0, 1, 31]
    assert [conflicts("atom.shared::cluster.add.u32", other, step) for step in (0, 128)] == [0, 0]


@pytest.mark.parametrize(
    ("mnemonic", "kind", "waits"),
    [
        ("bar.sync", "barrier", 1),
        ("barrier.cluster.wait", "barrier", 1),
        ("barrier.cluster.arrive", "barrier", 0),
        ("bar.warp.sync", "warp", 0),
        ("fence.sc.cta", "barrier", 0),
    ],
)
def test_barriers_are_those_at_which_a_warp_waits_for_other_warps(mnemonic: str, kind: str, waits: int) -> None:
    stretch = Stretch("k", (TracedInstruction(mnemonic, kind, 7, 1, CHAIN),), ())
    machine = Machine()
    trace = exact_costs.WarpTrace(machine, [stretch])
    trace.full(machine.trace)
    head = (ctypes.c_uint64 * 2).from_address(machine.trace)
    (ctypes.c_uint64 * 2).from_address(head[0])[:] = [32, 0]
    head[0] += 16
    (item,) = trace.costs().instructions
    assert item.counts.get("barriers", 0) == waits
