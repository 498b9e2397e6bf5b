"""Blocks in another order: each runs once, in that order, and what depends on it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.devices.cpu import order
from gpuregress.errors import UsageError
from tests.cli.workshop import Workshop

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
    monkeypatch.setenv(order.VARIABLE, wanted)
    found = tickets(shop)
    expected = numbers if numbers is not None else order.sequence(12)
    assert expected is not None
    assert [found[block] for block in expected] == list(range(12))


def test_a_seed_is_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(order.VARIABLE, "random:1")
    first = order.sequence(100)
    assert first == order.sequence(100)
    assert first is not None
    assert sorted(first) == list(range(100)) != first
    monkeypatch.setenv(order.VARIABLE, "random:2")
    assert order.sequence(100) != first


@pytest.mark.parametrize("wanted", ["shuffled", "random", "random:-1", "random:x"])
def test_no_order(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv(order.VARIABLE, wanted)
    with pytest.raises(UsageError, match="reversed or random:SEED is needed"):
        order.sequence(4)


def test_calibration_sees_what_depends_on_the_order(shop: Workshop) -> None:
    said = shop.call("calibrate", "sum", "--repeat", "2", "--device", "cpu").stdout
    assert "7 other orders of the blocks" in said
    assert "  out: {ulp: " in said
