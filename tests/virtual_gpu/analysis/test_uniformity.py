"""Which registers vary; tests/virtual_gpu/schedule/test_lockstep.py tests which kernels run in lockstep."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.uniformity import Uniformity
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph


def _varying(body: str) -> set[str]:
    return Uniformity(graph(f"{body} bar.sync 0; ret;"), set(PARAMETERS)).varying


@pytest.mark.parametrize(
    ("body", "varies"),
    [
        ("mov.u32 %r1, %ctaid.x;", False),
        ("mov.u32 %r1, %tid.x;", True),
        ("ld.param.u32 %r1, [n];", False),
        ("ld.global.u32 %r1, [%rd1];", True),
        ("mov.u32 %r2, %ntid.x; dp4a.u32.u32 %r1, %r2, %r2, 1;", False),
        ("mov.u32 %r2, %laneid; add.s32 %r1, %r2, 1;", True),
        ("setp.eq.u32 %p1, %tid.x, 0; bar.red.popc.u32 %r1, 0, %p1;", False),
        ("vote.sync.ballot.b32 %r1, 1, -1;", True),
    ],
)
def test_a_register_varies_with_what_it_is_computed_from(body: str, *, varies: bool) -> None:
    assert ("%r1" in _varying(body)) is varies


def test_a_register_varies_if_only_some_threads_set_it() -> None:
    branch = "setp.eq.u32 %p1, {}, 0; @%p1 bra L; mov.u32 %r1, 1; L: mov.u32 %r2, 2;"
    assert _varying(branch.format("%tid.x")) == {"%p1", "%r1"}
    assert _varying(branch.format("%ctaid.x")) == set()


@pytest.mark.parametrize(
    ("body", "lockstep"),
    [
        ("bar.sync 0; ret;", True),
        ("setp.eq.u32 %p1, %tid.x, 0; @%p1 bar.sync 0; ret;", False),
        ("setp.eq.u32 %p1, %tid.x, 0; @%p1 bra L; bar.sync 0; L: ret;", False),
        ("bar.sync 0, 64; ret;", False),
        ("mov.u32 %r1, %laneid; bar.sync %r1; ret;", False),
        ("vote.sync.ballot.b32 %r1, 1, -1; ret;", True),
        ("vote.sync.ballot.b32 %r1, 1, 1; ret;", False),
        ("activemask.b32 %r2; vote.sync.ballot.b32 %r1, 1, %r2; ret;", True),
        ("nanosleep.u32 9; ret;", False),
    ],
)
def test_waits_of_all_threads_together_run_in_lockstep(body: str, *, lockstep: bool) -> None:
    assert Uniformity(graph(body), set(PARAMETERS)).lockstep is lockstep
