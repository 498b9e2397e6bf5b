from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case
from gpuregress.jobs import plan
from gpuregress.store.project import find
from tests import workshop

SOURCE = "__host__ __device__ float both(float x) { return sinf(x); }\n__device__ float one(float x) { return x; }\n"
JOB = """\
source: ../kernels/f.cu
function: both
buffers:
  x: {dtype: float32, shape: [4], fill: ones}
  result: {dtype: float32, shape: [4]}
"""


def case(root: Path, *changes: tuple[str, str], twins: str) -> Case:
    text = JOB
    for before, after in changes:
        text = text.replace(before, after)
    shop = workshop.make(root)
    shop.write("kernels/f.cu", SOURCE)
    path = shop.write("configs/f.yaml", f"{text}twins: {twins}\n")
    (planned,) = plan.make(find(root), (str(path),)).cases
    return planned


def test_a_host_twin_has_its_program_and_its_library(tmp_path: Path) -> None:
    planned = case(tmp_path, twins="[host, cuda]")
    assert planned.settings.twins == ("host", "cuda")
    assert planned.function is not None
    assert "int main(" in planned.function.host
    assert planned.function.library == ("sinf",)
    assert planned.launch_numbers == 1 + 3 + 1


def test_devices_need_no_function(tmp_path: Path) -> None:
    launch = "launches: [{kernel: k, grid: [1], block: [1], args: [result, x]}]"
    planned = case(tmp_path, ("function: both", launch), twins="[cpu, cuda]")
    assert planned.settings.twins == ("cpu", "cuda")


@pytest.mark.parametrize(
    ("change", "twins", "message"),
    [
        (("", ""), "[cpu]", "6: twins: names one device, cpu: name what it is compared with, such as [cpu, cuda]"),
        (("", ""), "[host, host]", "6: twins[1]: duplicate entry 'host'"),
        (("both", "one"), "[host]", "6: twins[0]: one(float) is not __host__ __device__"),
        (("both", "{name: both, scope: block}"), "[cuda, host]", "twins[1]: both(float) is called by whole blocks"),
        (("ones}", "ones, symbol: x}"), "[host]", "twins[0]: x is a variable of the device (symbol:)"),
        (("buffers:", "expect: {fault: trap}\nbuffers:"), "[host]", "twins: has no effect beside expect"),
        (("function: both", "launches: [{kernel: k, grid: [1], block: [1]}]"), "[host]", "needs function: in place of"),
    ],
)
def test_twins_that_cannot_be_compared(tmp_path: Path, change: tuple[str, str], twins: str, message: str) -> None:
    with pytest.raises(JobErrors) as caught:
        case(tmp_path, change, twins=twins)
    assert message in "\n".join(map(str, caught.value.errors))
