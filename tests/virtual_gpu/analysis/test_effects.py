from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis import effects
from tests.virtual_gpu.analysis.kernels import statement


@pytest.mark.parametrize(
    ("text", "defined", "used"),
    [
        ("add.s32 %r1, %r2, 3;", ("%r1",), ("%r2",)),
        ("@!%p1 add.cc.u32 %r1, %r2, %r3;", ("%cc", "%r1"), ("%p1", "%r2", "%r3")),
        ("addc.u32 %r1, %r2, %r3;", ("%r1",), ("%cc", "%r2", "%r3")),
        ("st.global.v2.u32 [%rd1+4], {%r1, %r2};", (), ("%rd1", "%r1", "%r2")),
        ("ld.global.v2.u32 {%r1, _}, [%rd1];", ("%r1",), ("%rd1",)),
        ("shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;", ("%r1", "%p1"), ("%r2",)),
        ("bar.sync %r1;", (), ("%r1",)),
        ("bar.red.popc.u32 %r1, 0, %p1;", ("%r1",), ("%p1",)),
        ("mbarrier.init.shared.b64 [%r1], %r2;", (), ("%r1", "%r2")),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1];", ("%rd1",), ("%r1",)),
        ("mbarrier.arrive.shared::cluster.b64 _, [%r1];", (), ("%r1",)),
        ("call (%r1), f, (%r2);", ("%r1",), ("%r2",)),
        ("L: ret;", (), ()),
    ],
)
def test_definitions_and_uses(text: str, defined: tuple[str, ...], used: tuple[str, ...]) -> None:
    assert effects.sets(statement(text)) == defined
    assert effects.reads(statement(text)) == used


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("bar.sync 0;", True),
        ("bar.warp.sync -1;", True),
        ("barrier.cluster.arrive;", False),
        ("barrier.cluster.wait;", True),
        ("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", True),
        ("nanosleep.u32 9;", True),
        ("atom.global.add.u32 %r1, [%rd1], 1;", False),
        ("L: ret;", False),
    ],
)
def test_a_thread_waits_for_others_only_where_they_meet(text: str, *, waits: bool) -> None:
    assert effects.waits(statement(text)) is waits


@pytest.mark.parametrize(
    ("text", "observes"),
    [
        ("ld.volatile.global.u32 %r1, [%rd1];", True),
        ("ld.global.u32 %r1, [%rd1];", False),
        ("st.volatile.global.u32 [%rd1], %r1;", False),
        ("atom.global.add.u32 %r1, [%rd1], 1;", True),
        ("red.global.add.u32 [%rd1], 1;", False),
        ("mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1;", True),
    ],
)
def test_ordered_loads_and_atomics_observe_other_threads(text: str, *, observes: bool) -> None:
    assert effects.may_change_between_reads(statement(text)) is observes


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1;", False),
        ("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], %r2;", False),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1];", True),
        ("st.global.u32 [%rd1], %r1;", True),
        ("ld.volatile.global.u32 %r1, [%rd1];", False),
        ("mov.u32 %r1, %clock;", True),
    ],
)
def test_a_test_of_an_mbarrier_changes_nothing_by_itself(text: str, *, changes: bool) -> None:
    assert effects.changes_more_than_registers(statement(text)) is changes


@pytest.mark.parametrize(
    ("text", "ends"), [("ret;", True), ("@%p1 ret;", False), ("trap;", True), ("bar.sync 0;", False)]
)
def test_only_unguarded_transfers_of_control_end_a_path(text: str, *, ends: bool) -> None:
    assert effects.ends_thread(statement(text)) is ends
