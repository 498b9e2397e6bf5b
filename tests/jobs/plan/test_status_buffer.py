from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Case
from gpuregress.jobs import plan
from gpuregress.store.project import Project
from tests.jobs.plan.projects import JOB, project


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


@pytest.mark.parametrize(
    ("declared", "dtype", "shape"),
    [
        ("__device__ int d_status", "int32", (1,)),
        ("__device__ volatile unsigned int d_status[3]", "uint32", (3,)),
        ("__managed__ int64_t d_status[2][4]", "int64", (2, 4)),
    ],
)
def test_a_status_variable_has_the_type_and_shape_of_its_declaration(
    declared: str, dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    example = project(tmp_path, reduce=JOB + "status: d_status\n")
    source = tmp_path / "kernels" / "reduce.cu"
    source.write_text(source.read_text().replace("__device__ int d_status[2]", declared))
    status = only(example, "reduce/n=1000,tile=128").buffers["d_status"]
    assert (status.dtype, status.shape, status.symbol) == (dtype, shape, "d_status")
