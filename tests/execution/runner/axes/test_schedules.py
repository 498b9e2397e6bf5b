"""Kernels that are right by luck differ under another schedule, and their correct twins do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.records import CaseSettings
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.records import replace
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin
from tests import fakes
from tests.workshop import Workshop

KERNELS = """\
// $Revision: 1.0 $
extern "C" __global__ void blocks(int *lucky, int *right, int *next)
{
    if (threadIdx.x == 0) lucky[blockIdx.x] = atomicAdd(next, 1);
    if (threadIdx.x == 0) atomicAdd(right, blockIdx.x);
}
extern "C" __global__ void warps(int *lucky, int *right)
{
    __shared__ int s[96];
    int i = threadIdx.x;
    s[i] = i + 1;
    lucky[i] = s[(i + 32) % 96];
    __syncthreads();
    right[i] = s[(i + 32) % 96];
}
extern "C" __global__ void lanes(int *lucky, int *right)
{
    __shared__ int n, all;
    if (threadIdx.x == 0) n = all = 0;
    __syncthreads();
    lucky[threadIdx.x] = atomicAdd(&n, 1);
    atomicAdd(&all, threadIdx.x);
    __syncthreads();
    right[threadIdx.x] = all;
}
extern "C" __global__ void copies(int *lucky, int *right, const int *x)
{
    __shared__ int s[32];
    int i = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(s + i);
    s[i] = 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + i) : "memory");
    lucky[i] = ((volatile int *)s)[i];
    asm volatile("cp.async.wait_all;" ::: "memory");
    right[i] = ((volatile int *)s)[i];
}
extern "C" __global__ void steps(int *lucky)
{
    __shared__ int s[64];
    const int i = threadIdx.x;
    s[i] = 0;
    __syncthreads();
    const int left = i ? s[i - 1] : 0;
    __syncwarp();
    s[i] = 1;
    lucky[i] = left;
}
"""
STEPS = """\
source: ../kernels/luck.cu
buffers: {lucky: {dtype: int32, shape: [64]}}
launches: [{kernel: steps, grid: [1], block: [64], args: [lucky]}]
"""
JOB = """\
source: ../kernels/luck.cu
schedules: 6
buffers:
  next: {dtype: int32, shape: [1], fill: zeros}
  x: {dtype: int32, shape: [32], fill: ones}
  lucky_blocks: {dtype: int32, shape: [6]}
  right_blocks: {dtype: int32, shape: [1], fill: zeros}
  lucky_warps: {dtype: int32, shape: [96]}
  right_warps: {dtype: int32, shape: [96]}
  lucky_lanes: {dtype: int32, shape: [32]}
  right_lanes: {dtype: int32, shape: [32]}
  lucky_copies: {dtype: int32, shape: [32]}
  right_copies: {dtype: int32, shape: [32]}
launches:
  - {kernel: blocks, grid: [6], block: [32], args: [lucky_blocks, right_blocks, next]}
  - {kernel: warps, grid: [1], block: [96], args: [lucky_warps, right_warps]}
  - {kernel: lanes, grid: [1], block: [32], args: [lucky_lanes, right_lanes]}
  - {kernel: copies, grid: [1], block: [32], args: [lucky_copies, right_copies, x]}
dump: [lucky_blocks, right_blocks, lucky_warps, right_warps, lucky_lanes, right_lanes, lucky_copies, right_copies]
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    made = Workshop(tmp_path_factory.mktemp("schedules"))
    made.write("kernels/luck.cu", KERNELS)
    made.write("configs/luck.yaml", JOB)
    made.write("configs/steps.yaml", STEPS)
    return made


def ran(shop: Workshop, *options: str, job: str = "luck") -> dict[str, Any]:
    shop.call("run", "--device", "cpu", "--json", str(shop.root / "out.json"), job, *options)
    (case,) = json.loads((shop.root / "out.json").read_text())["cases"]
    found: dict[str, Any] = case
    return found


def dumped(case: Mapping[str, Any]) -> dict[str, str]:
    return {buffer["name"]: Path(buffer["dump"]).read_text() for buffer in case["buffers"]}


def test_no_two_launches_of_a_run_have_one_number(shop: Workshop) -> None:
    shop.write("configs/pair.yaml", f"parameters: {{of: [1, 2]}}\nschedules: 2\n{STEPS}")
    shop.call("run", "--device", "cpu", "pair")
    events = launch_log.read(shop.root / "runs/latest/launch.log").events
    numbers = [event.number for event in events if isinstance(event, LaunchBegin)]
    assert len(numbers) > 4
    assert len(set(numbers)) == len(numbers)


def test_every_kind_of_luck_shows_and_no_correct_twin_does(shop: Workshop) -> None:
    case = ran(shop)
    failing = {
        buffer["name"]: comparison["message"]
        for buffer in case["buffers"]
        for comparison in buffer["comparisons"]
        if not comparison["same"]
    }
    assert sorted(failing) == ["lucky_blocks", "lucky_copies", "lucky_lanes", "lucky_warps"]
    assert failing["lucky_blocks"].startswith(
        "the schedules forward and reverse give different results: lucky_blocks[0] is 0 and 5"
    )
    assert failing["lucky_copies"].startswith(
        "the schedules forward and reverse give different results: lucky_copies[0] is 0 and 1"
    )
    assert (case["verdict"], case["exit_code"]) == ("differ", 1)
    assert case["schedules"][0]["switches"] == {
        "lucky_blocks": "running block 1 before block 0 is enough",
        "lucky_warps": "running warp 1 before warp 0 is enough",
        "lucky_lanes": "running thread 1 before thread 0 is enough",
        "lucky_copies": "the arrival of the asynchronous copies is enough",
    }
    accesses = case["schedules"][0]["accesses"]
    assert "data race on `s[" in accesses["lucky_warps"][0]
    assert "luck.cu:12" in accesses["lucky_warps"][0]
    (order,) = accesses["lucky_blocks"]
    first, second = (f"atomic access by thread (0,0,0) of block ({block},0,0) at luck.cu:4" for block in (0, 1))
    assert order == f"order of accesses to `next[0]`: {first} and {second}"
    names = ["reverse", "lockstep", "adversarial", "shuffled:1", "shuffled:2", "by-warp"]
    assert [run["name"] for run in case["schedules"]] == names
    adversarial = case["schedules"][2]
    assert sorted(adversarial["dumps"]) == sorted(failing)
    assert case["conflicts"]["pairs"] == 5 + 3 + 31 + 1
    assert "unwatched" not in case["conflicts"]


@pytest.mark.parametrize("options", [("--schedules", "2"), ("--schedule", "adversarial")])
def test_the_order_by_warp_is_compared_with_its_opposites(shop: Workshop, options: tuple[str, str]) -> None:
    # Here `forward`, `reverse` and the adversarial schedule agree, and only `by-warp` differs.
    (buffer,) = ran(shop, *options, job="steps")["buffers"]
    main = "forward" if options[0] == "--schedules" else options[1]
    (failed,) = (one for one in buffer["comparisons"] if one["against"] == "schedule")
    assert failed["message"].startswith(
        f"the schedules {main} and by-warp give different results: lucky[32] is 0 and 1; 1 of 64 differ"
    )


def test_the_smallest_switch_replays_by_its_name(shop: Workshop) -> None:
    lucky, usual = dumped(ran(shop, "--schedule", "blocks:1,0")), dumped(ran(shop, "--schedule", "forward"))
    assert [int(line) for line in lucky["lucky_blocks"].splitlines()[1:]] == [1, 0, 2, 3, 4, 5]
    assert {name for name in usual if lucky[name] != usual[name]} == {"lucky_blocks"}
    first = dumped(ran(shop, "--schedule", "adversarial"))
    assert first == dumped(ran(shop, "--schedule", "adversarial"))
    assert [int(line) for line in first["lucky_blocks"].splitlines()[1:]] == [5, 4, 3, 2, 1, 0]


def test_a_schedule_replays_and_the_usual_one_is_the_run_without(shop: Workshop) -> None:
    first, again = dumped(ran(shop, "--schedule", "shuffled:2")), dumped(ran(shop, "--schedule", "shuffled:2"))
    usual, forward = dumped(ran(shop, "--schedules", "1")), dumped(ran(shop, "--schedule", "forward"))
    assert first == again != forward == usual
    assert all(first[name] == usual[name] for name in first if name.startswith("right"))
    reverse = dumped(ran(shop, "--schedule", "reverse"))
    assert [int(line) for line in reverse["lucky_blocks"].splitlines()[1:]] == [5, 4, 3, 2, 1, 0]


def test_the_adversarial_schedule_is_left_out_where_watching_takes_too_long(tmp_path: Path) -> None:
    class Slow(fakes.FakeDevice):
        def launch(self, *arguments: Any) -> LaunchReport:
            return replace(super().launch(*arguments), elapsed_ms=30e3)

    case = fakes.case("double", settings=CaseSettings(schedules=("forward", "adversarial")))
    outcome = run_case(Slow(varies=True), fakes.task(case, tmp_path))
    (left_out,) = outcome.observations.along("schedule")
    assert left_out.left_out.startswith("to watch all accesses of launches that take 30.0 s")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--schedule", "sideways"], "no schedule is called 'sideways': say forward, reverse"),
        (["--schedule", "shuffled:x"], "the seed is a whole number"),
        (["--schedules", "0"], "0 is not in the range"),
        (["--schedules", "4", "--schedule", "reverse"], "give one of the two"),
    ],
)
def test_bad_options(shop: Workshop, options: list[str], message: str) -> None:
    assert message in " ".join(shop.fails(2, "run", "luck", *options).split())


def test_a_bad_number_of_schedules_is_told_with_its_line(tmp_path: Path) -> None:
    made = Workshop(tmp_path)
    made.write("kernels/luck.cu", KERNELS)
    made.write("configs/luck.yaml", JOB.replace("schedules: 6", "schedules: 0"))
    assert "luck.yaml:2: schedules" in made.fails(2, "check")
