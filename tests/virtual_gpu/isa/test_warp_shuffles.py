from __future__ import annotations

import numpy as np
import pytest

from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void shuffles(int* y) {
  int t = threadIdx.x, all = -1;
  y[t] = __shfl_sync(all, t, 3); y[32 + t] = __shfl_up_sync(all, t, 2, 8);
  y[64 + t] = __shfl_down_sync(all, t, 2, 8); y[96 + t] = __shfl_xor_sync(all, t, 5);
}
extern "C" __global__ void votes(int* y) {
  int t = threadIdx.x;
  y[t] = __ballot_sync(-1, t % 3 == 0); y[32 + t] = __any_sync(-1, t == 40) + 2 * __all_sync(-1, t < 32);
  y[64 + t] = __match_any_sync(-1, t / 8); y[96 + t] = __reduce_add_sync(-1, t);
}
extern "C" __global__ void some(int* y) {
  int t = threadIdx.x;
  if (t % 2) { y[t] = __reduce_max_sync(0xAAAAAAAA, t); y[32 + t] = __activemask(); }
}
extern "C" __global__ void left_out(int* y) {
  int t = threadIdx.x;
  y[t] = __shfl_down_sync(0x55555555, t, 1); y[32 + t] = __ballot_sync(0xffff, t % 3 == 0);
  y[64 + t] = __reduce_add_sync(y[0] + 8, t); y[96 + t] = __match_any_sync(1, t / 8);
}
"""
_LANES = list(range(32))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("warp"), SOURCE)


def _run(program: Running, kernel: str, count: int) -> list[list[int]]:
    y = program.put("y", np.zeros(32 * count, np.int32))
    program.launch(kernel, 1, 32, y)
    values = ints(y)
    return [values[start : start + 32] for start in range(0, 32 * count, 32)]


def test_shuffles_read_the_source_lane_or_their_own(program: Running) -> None:
    index, up, down, butterfly = _run(program, "shuffles", 4)
    assert index == [3] * 32
    assert up == [t - 2 if t % 8 >= 2 else t for t in _LANES]
    assert down == [t + 2 if t % 8 < 6 else t for t in _LANES]
    assert butterfly == [t ^ 5 for t in _LANES]


def test_votes_matches_and_reductions_of_a_whole_warp(program: Running) -> None:
    ballot, any_all, match, total = _run(program, "votes", 4)
    assert ballot == [int(np.int32(np.uint32(sum(1 << t for t in _LANES if t % 3 == 0))))] * 32
    assert any_all == [2] * 32
    assert [value & 0xFFFFFFFF for value in match] == [0xFF << 8 * (t // 8) for t in _LANES]
    assert total == [496] * 32


def test_lanes_outside_the_mask_take_no_part(program: Running) -> None:
    largest, active = _run(program, "some", 2)
    assert largest == [31 if t % 2 else 0 for t in _LANES]
    assert [value & 0xFFFFFFFF for value in active] == [0xAAAAAAAA if t % 2 else 0 for t in _LANES]


def test_a_mask_that_leaves_out_lanes_of_a_converged_warp_is_not_looked_at(program: Running) -> None:
    y = program.put("y", np.zeros(128, np.int32))
    report = program.launch("left_out", 1, 32, y)
    values = np.array(ints(y), np.int32).view(np.uint32).reshape(4, 32).tolist()
    ballot = sum(1 << t for t in _LANES if t % 3 == 0)
    assert values == [[*_LANES[1:], 31], [ballot] * 32, [496] * 32, [0xFF << 8 * (t // 8) for t in _LANES]]
    assert "executes shfl.sync.down.b32 at k.cu:18, whose mask 0x55555555 leaves it out" in report.exchange
