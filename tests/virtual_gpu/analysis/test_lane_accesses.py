"""The accesses of a kernel that other lanes may meet."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.lane_overlap import LaneAccess, are_apart, find_accesses, may_depend
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph

_POINTERS = "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; "


def _found(body: str, private: frozenset[str] = frozenset()) -> dict[int, LaneAccess]:
    return find_accesses(graph(_POINTERS + body + " ret;"), PARAMETERS, private)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd2];", 2),
        ("st.global.u32 [%rd1], %r1; ld.global.nc.u32 %r2, [%rd2];", 1),
        ("st.global.u32 [%rd1], %r1; ld.const.u32 %r2, [%rd2];", 1),
        ("ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd2];", 0),
    ],
)
def test_reads_of_constants_and_kernels_that_only_read_have_none(body: str, count: int) -> None:
    assert len(_found(body)) == count


def test_own_variables_are_left_out() -> None:
    body = "mov.u64 %rd3, table; st.u32 [%rd3], %r1;"
    assert len(_found(body)) == 1
    assert not _found(body, frozenset({"table"}))


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ("red.global.add.u32 [%rd1], %r1;", "add.u32"),
        ("atom.global.add.u32 %r2, [%rd1], %r1;", "add.u32"),
        ("atom.global.add.u32 %r2, [%rd1], %r1; mov.u32 %r3, %r2;", ""),
        ("red.global.add.f32 [%rd1], %f1;", ""),
        ("atom.global.exch.b32 %r2, [%rd1], %r1;", ""),
    ],
)
def test_atomic_operations_whose_order_cannot_be_noticed_commute(body: str, operation: str) -> None:
    (access,) = _found(body).values()
    assert access.commutes == operation
    assert may_depend({access.index: access}) is not bool(operation)


@pytest.mark.parametrize(
    ("body", "meets"),
    [
        ("st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1];", True),
        ("st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd2];", False),
        ("st.shared.u32 [%r3], %r1; ld.global.u32 %r2, [%rd1];", False),
    ],
)
def test_accesses_meet_in_one_object_of_one_space(body: str, meets: bool) -> None:  # noqa: FBT001
    first, second = _found(body).values()
    assert first.may_meet(second) is meets


@pytest.mark.parametrize(("written", "apart"), [("%rd1", False), ("%rd2", True)])
def test_parameters_are_taken_for_different_buffers_where_one_is_written(written: str, apart: bool) -> None:  # noqa: FBT001
    found = _found(f"ld.global.u32 %r1, [%rd1]; st.global.u32 [{written}], %r1;")
    assert are_apart(found) is apart
