"""What looks like a pass and is none, from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workshop import Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1")
TWO = """\
// $Revision: 1.1 $
extern "C" __global__ void first(int *out, int *more, int bad)
{
    out[bad ? 1 << 20 : threadIdx.x] = 1;
    more[threadIdx.x] = 2;
}
extern "C" __global__ void second(int *out, int bad) { if (bad) out[1 << 20] = 1; }
"""
JOB = """\
source: ../kernels/two.cu
buffers:
  x: {dtype: int32, shape: [4], fill: zeros}
  out: {dtype: int32, shape: [4]}
  more: {dtype: int32, shape: [4]}
launches:
  - {kernel: first, grid: [1], block: [4], args: [out, more, {int32: 0}]}
  - {kernel: second, grid: [1], block: [4], args: [x, {int32: 0}]}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.write("kernels/two.cu", TWO)
    made.write("configs/two.yaml", JOB)
    return made


def change(shop: Workshop, *changes: tuple[str, str]) -> None:
    text = JOB
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    shop.write("configs/two.yaml", text)


def case(shop: Workshop) -> dict[str, Any]:
    actual: dict[str, Any] = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"][0]
    return actual


def accepted(shop: Workshop) -> set[str]:
    return {path.name for path in (shop.root / "baselines/two").glob("*.1.1")}


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("launches:", "dump: [out]\nlaunches:", {"out.1.1"}),
        ("more", "less", {"out.1.1", "less.1.1"}),
        ("shape: [4]}\n  more", "shape: [4], fill: zeros}\n  more", {"more.1.1"}),
    ],
)
def test_a_buffer_that_is_dumped_no_longer_differs_until_it_is_accepted(
    shop: Workshop, before: str, after: str, left: set[str]
) -> None:
    shop.call(*RUN)
    assert shop.call("accept", "two").exit_code == 0
    assert shop.call(*RUN).exit_code == 0
    change(shop, (before, after))
    for command in (RUN, ("nightly", "--device", "cpu", "--jobs", "1")):
        result = shop.call(*command)
        assert result.exit_code == 1, result.output
        assert "its baseline is there, and the job no longer dumps it" in result.output
        assert case(shop)["verdict"] == "differ"
    assert shop.call("accept", "two").exit_code == 0
    assert accepted(shop) == left
    assert shop.call(*RUN).exit_code == 0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("more: {dtype: int32", "more: {dtype: uint32", "holds int32, this run uint32"),
        ("more: {dtype: int32, shape: [4]", "more: {dtype: int32, shape: [2, 2]", "shape is [4], this run's [2, 2]"),
    ],
)
def test_another_dtype_or_shape_differs(shop: Workshop, before: str, after: str, message: str) -> None:
    shop.call(*RUN)
    shop.call("accept", "two")
    change(shop, (before, after))
    shop.write("kernels/two.cu", TWO.replace("int *more", "unsigned *more") if "uint" in after else TWO)
    result = shop.call(*RUN)
    assert result.exit_code == 1, result.output
    assert message in result.output


SECOND_BAD = ("[x, {int32: 0}]", "[x, {int32: 1}]")
FILL = "import os\n\n\ndef f(shape):\n    os.kill(os.getpid(), 11)\n"


@pytest.mark.parametrize(
    ("expect", "changes", "exit_code"),
    [
        ("{fault: out-of-bounds}", (SECOND_BAD,), 0),
        ("{fault: out-of-bounds, kernel: second}", (SECOND_BAD,), 0),
        ("{fault: out-of-bounds, launch: 2}", (SECOND_BAD,), 0),
        ("{fault: out-of-bounds, kernel: second, launch: 2}", (SECOND_BAD,), 0),
        ("{fault: out-of-bounds, launch: 1}", (SECOND_BAD,), 3),
        ("{fault: out-of-bounds, kernel: first}", (SECOND_BAD,), 3),
        ("{fault: out-of-bounds}", (), 1),
        ("{fault: crash}", (("fill: zeros", "fill: {python: fill.py:f}"),), 3),
        ("{fault: out-of-bounds}", (("launches:", "reference: {out: {launches: [WILD]}}\nlaunches:"),), 1),
    ],
)
def test_an_expected_fault_is_one_in_its_launch(
    shop: Workshop, expect: str, changes: tuple[tuple[str, str], ...], exit_code: int
) -> None:
    wild = "{kernel: second, grid: [1], block: [1], args: [out, {int32: 1}]}"
    shop.write("configs/fill.py", FILL)
    change(shop, *((before, after.replace("WILD", wild)) for before, after in changes))
    path = shop.root / "configs/two.yaml"
    path.write_text(f"{path.read_text()}expect: {expect}\n")
    result = shop.call(*RUN)
    assert result.exit_code == exit_code, result.output


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{fault: trap, launch: 3}", "two.yaml:9: expect.launch: is 3, and the job has 2 launches"),
        ("{fault: trap, launch: 0}", "two.yaml:9: expect.launch: is 0"),
        ("{fault: trap, kernel: sekond}", "two.yaml:9: expect.kernel: no launch is of a kernel 'sekond'; did you mean"),
        ("{fault: trap, kernel: first, launch: 2}", "no launch 2 is of a kernel 'first'; it is: second"),
        ("{fault: status, launch: 1}", "two.yaml:9: expect.launch: is given, but a status is read after"),
    ],
)
def test_the_place_of_an_expected_fault_is_checked(shop: Workshop, expect: str, message: str) -> None:
    path = shop.root / "configs/two.yaml"
    path.write_text(f"{path.read_text()}expect: {expect}\n")
    assert message in shop.fails(2, "check")


def test_new_says_what_passed_its_reference(shop: Workshop) -> None:
    shop.write("configs/gold.py", "import numpy as np\n\n\ndef f(inputs, case):\n    return np.ones(4)\n")
    change(shop, ("launches:", "reference: {out: gold.py:f}\nlaunches:"))
    result = shop.call(*RUN)
    assert result.exit_code == 1
    assert "more: no baseline yet; out: as its reference" in result.output


def test_messages_name_the_jobs_own_buffers(shop: Workshop) -> None:
    for section in (
        "dump: [none]",
        "compare: {none: {rtol: 0.1}}",
        "checks: {none: [unique]}",
        "verify: {none: g.py:f}",
    ):
        change(shop, ("launches:", f"{section}\nlaunches:"))
        assert "unknown buffer 'none'; there are: x, out, more" in shop.fails(2, "check"), section
    change(shop, ("launches:", "dump: []\nlaunches:"))
    assert "name buffers to dump, such as dump: [out, more]" in shop.fails(2, "check")


def test_an_output_of_which_nothing_was_written_is_refused_under_the_name_that_it_was_exchanged_with(
    shop: Workshop,
) -> None:
    shop.write("kernels/two.cu", '// $Revision: 1.1 $\nextern "C" __global__ void idle(int *to, const int *from) {}\n')
    buffers = "x: {dtype: int32, shape: [64], fill: ones}\n  out: {dtype: int32, shape: [64]}"
    launch = "{kernel: idle, grid: [1], block: [64], args: [out, x], swap: [[x, out]]}"
    shop.write(
        "configs/two.yaml",
        f"source: ../kernels/two.cu\nbuffers:\n  {buffers}\nlaunches:\n  - {launch}\ndump: [x, out]\n",
    )
    assert shop.call(*RUN).exit_code == 1
    reason = case(shop)["reason"]
    assert "x: 64 of 64 elements were never written ([0] to [63]); 0 NaN" in reason
    assert "out: equal to x's fill, no element changed" in reason
    assert "nothing of x was written" in shop.fails(4, "accept", "two")
    assert not accepted(shop)


LEFT_OUT = """\
source: ../kernels/two.cu
parameters: {block: [32, 64], n: [0, 40]}
buffers:
  out: {dtype: float32, shape: [64]}
launches:
  - &launch {kernel: part, grid: [ceil(64 / block)], block: [block], args: [out, {int32: n}]}
"""
PART = """\
// $Revision: 1.1 $
extern "C" __global__ void part(float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * i;
}
"""


def test_elements_that_nothing_wrote_do_not_pass_as_a_group_or_as_a_reference(shop: Workshop) -> None:
    shop.write("kernels/two.cu", PART)
    shop.write("configs/two.yaml", f"{LEFT_OUT}agree: [block]\n")
    shop.write("configs/kernel.yaml", f"{LEFT_OUT}reference: {{out: {{launches: [*launch]}}}}\n")
    shop.write("configs/nan.py", "import numpy as np\n\n\ndef f(inputs, case):\n    return np.full(64, np.nan)\n")
    shop.write("configs/nan.yaml", f"{LEFT_OUT}where: [n == 0]\nreference: {{out: nan.py:f}}\n")
    result = shop.call(*RUN)
    assert result.exit_code == 1, result.output
    lines = {line.split()[1]: line for line in result.output.splitlines() if " s  " in line}
    missing = "out: 24 of 64 elements were never written ([40] to [63]); 0 NaN"
    for block in (32, 64):
        for job in ("two", "kernel"):
            assert lines[f"{job}/block={block},n=0"].startswith("differ")
            assert lines[f"{job}/block={block},n=40"].startswith("pass")
            assert f", without a baseline; {missing}" in lines[f"{job}/block={block},n=40"]
        assert "reference: nothing was written: it still holds the poison" in lines[f"nan/block={block},n=0"]
    assert shop.call("accept", "two", "--unwritten-ok", "n = 0 has no results").exit_code == 0
    assert shop.call(*RUN, "two").exit_code == 0


def test_a_job_without_buffers_is_decided_by_its_faults(shop: Workshop) -> None:
    shop.write("kernels/none.cu", '#include <assert.h>\nextern "C" __global__ void k(int n) { assert(n < 5); }\n')
    shop.write(
        "configs/none.yaml",
        "source: ../kernels/none.cu\nparameters: {n: [1, 7]}\n"
        "launches: [{kernel: k, grid: [1], block: [32], args: [{int32: n}]}]\n",
    )
    result = shop.call(*RUN, "none")
    assert result.exit_code == 3
    assert "ran to its end; the job has no buffers to compare" in result.stdout
    assert "assert: assertion `n < 5` failed" in result.stdout
