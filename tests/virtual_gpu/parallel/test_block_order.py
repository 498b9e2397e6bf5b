"""Blocks in another order: each runs once, in that order, and what depends on it shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.virtual_gpu.parallel import block_order
from tests.workshop import Workshop

KERNEL = """\
// $Revision: 1.0 $
extern "C" __global__ void tickets(int *out, int *next)
{
    if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(next, 1);
}
extern "C" __global__ void sum(float *out, const float *x)
{
    atomicAdd(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
extern "C" __global__ void block_sum(float *out, const float *x)
{
    __shared__ float total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) *out = total;
}
extern "C" __global__ void waiting_sum(float *out, const float *x)
{
    float own = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1);
    atomicAdd(out, own);
}
extern "C" __global__ void divergent_sum(float *out, const float *x)
{
    if (threadIdx.x < 512) __syncwarp();
    atomicAdd(out, x[threadIdx.x]);
}
extern "C" __global__ void add_up(int *out, const float *x)
{
    atomicAdd(out, __float_as_int(x[blockIdx.x * blockDim.x + threadIdx.x]));
}
extern "C" __global__ void waiting_add_up(int *out, const float *x)
{
    __shared__ int all[64];
    unsigned lane = threadIdx.x;
    all[lane] = __float_as_int(x[blockIdx.x * 64 + lane]);
    for (unsigned half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (lane < half) all[lane] += all[lane + half];
    }
    int sum = __shfl_sync(0xffffffff, all[0], 0);
    if (lane == 0) atomicAdd(out, sum);
}
"""
TICKETS = """\
source: ../kernels/order.cu
buffers:
  next: {dtype: int32, shape: [1], fill: zeros}
  out: {dtype: int32, shape: [12]}
launches:
  - {kernel: tickets, grid: [12], block: [64], args: [out, next]}
dump: [out]
"""
SUM = """\
source: ../kernels/order.cu
buffers:
  x: {dtype: float32, shape: [2048], fill: {uniform: {low: 0.0, high: 1.0}}}
  out: {dtype: float32, shape: [1], fill: zeros}
launches:
  - {kernel: sum, grid: [32], block: [64], args: [out, x]}
dump: [out]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.write("kernels/order.cu", KERNEL)
    made.write("configs/tickets.yaml", TICKETS)
    made.write("configs/sum.yaml", SUM)
    return made


def tickets(shop: Workshop) -> list[int]:
    assert shop.call("run", "--device", "cpu", "tickets").exit_code == 1  # nothing is accepted
    (dump,) = (shop.root / "runs/latest/dumps/tickets").iterdir()
    return [int(line) for line in dump.read_text().splitlines()[1:]]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [("", range(12)), ("reversed", range(11, -1, -1)), ("random:7", None)],
)
def test_each_block_has_its_turn(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, wanted: str, numbers: range | None
) -> None:
    monkeypatch.setenv(block_order.VARIABLE, wanted)
    actual = tickets(shop)
    expected = numbers if numbers is not None else block_order.sequence(12, wanted)
    assert expected is not None
    assert [actual[block] for block in expected] == list(range(12))


def test_a_seed_is_an_order() -> None:
    first = block_order.sequence(100, "random:1")
    assert first == block_order.sequence(100, "random:1")
    assert first is not None
    assert sorted(first) == list(range(100)) != first
    assert block_order.sequence(100, "random:2") != first


@pytest.mark.parametrize("wanted", ["shuffled", "random", "random:-1", "random:x"])
def test_no_order(wanted: str) -> None:
    with pytest.raises(UsageError, match="reversed or random:SEED is needed"):
        block_order.sequence(4, wanted)


def test_the_orders_of_a_cases_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [str(block_order.of_run(run)) for run in range(5)] == [
        "usual",
        "blocks and threads reversed",
        "blocks random:1",
        "blocks random:2, threads reversed",
        "blocks random:3",
    ]
    monkeypatch.setenv(block_order.VARIABLE, "random:7")
    assert str(block_order.of_run(0)) == "blocks random:7"


@pytest.mark.parametrize("kernel", ["sum", "block_sum", "waiting_sum", "divergent_sum"])
def test_sums_that_depend_on_the_order_are_not_bitwise(shop: Workshop, kernel: str) -> None:
    job = SUM.replace("kernel: sum", f"kernel: {kernel}")
    job = job if kernel == "sum" else job.replace("grid: [32], block: [64]", "grid: [1], block: [1024]")
    shop.write("configs/sum.yaml", job + "repeat: 2\n")
    output = shop.call("run", "--device", "cpu", "sum").stdout
    assert "run 2 of 2 (blocks and threads reversed) is not the first one: 1 of 1 differ" in output
    outcome = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"][0]
    assert outcome["verdict"] == "differ"
    assert outcome["orders"] == ["usual", "blocks and threads reversed"]


@pytest.mark.parametrize("kernel", ["add_up", "waiting_add_up"])
def test_what_does_not_depend_on_the_order_is_bitwise_and_says_over_which_orders(shop: Workshop, kernel: str) -> None:
    job = SUM.replace("kernel: sum", f"kernel: {kernel}").replace("out: {dtype: float32", "out: {dtype: int32")
    shop.write("configs/sum.yaml", job + "repeat: 3\n")
    shop.call("run", "--device", "cpu", "sum")
    assert shop.call("accept", "-m", "right", "sum").exit_code == 0
    assert shop.call("run", "--device", "cpu", "sum").exit_code == 0
    case = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"][0]
    rules = [one["rule"] for one in case["buffers"][0]["comparisons"] if one["against"] == "repeat"]
    orders = "(usual; blocks and threads reversed; blocks random:1)"
    assert rules == [
        f"determinism: bitwise {orders}",
        f"3 runs {orders}, 1 different results, all the same under the buffer's rule",
    ]
    text = (shop.root / "baselines/sum/baseline.yaml").read_text()
    assert "    out: bitwise\n" in text
    assert "  orders:\n  - usual\n  - blocks and threads reversed\n  - blocks random:1\n" in text


def test_calibration_sees_what_depends_on_the_order(shop: Workshop) -> None:
    output = shop.call("calibrate", "sum", "--repeat", "2", "--device", "cpu").stdout
    assert "7 other orders of the blocks" in output
    assert "  out: {ulp: " in output
