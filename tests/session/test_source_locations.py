from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Case, Fault, Outcome, SourceLocation, Verdict
from gpuregress.gpu.records import replace
from gpuregress.session.source_locations import located
from tests import fakes

KERNELS = """\
// scale(x) is described here
__device__ float twice(float x) { return 2 * x; }

__global__ void scale(float *out, const float *x, float a, int n)
{
}

template <typename T>
__global__ void
fault(T *out) {}
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    source = tmp_path / "k.cu"
    source.write_text(KERNELS)
    made = fakes.case("scale", "fault<float>")
    return replace(made, path=str(tmp_path / "job.yaml"), source=replace(made.source, path=str(source)))


def where(case: Case, status: str, reason: str = "", **changes: object) -> tuple[str, int]:
    verdict = Verdict(case.job, case.name, status, reason, **changes)  # type: ignore[arg-type]  # a status by name
    location = located(verdict, case).location
    assert location is not None
    return Path(location.file).name, location.line


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("fault", "out-of-bounds: write of x, thread (1,0,0), k.cu:5 (launch 3)", ("k.cu", 5)),
        ("error", "k.cu(2): error: identifier is undefined", ("k.cu", 2)),
        ("error", "the worker died", ("job.yaml", 0)),
        ("error", "another.cu:7: no source of the case", ("job.yaml", 0)),
        ("differ", "out: 3 of 8 differ", ("k.cu", 10)),
        ("differ", "out: k.cu:5 is data here", ("k.cu", 10)),
        ("timeout", "killed at its limit", ("k.cu", 10)),
    ],
)
def test_a_failure_has_a_line(case: Case, status: str, reason: str, expected: tuple[str, int]) -> None:
    assert where(case, status, reason) == expected


def test_the_launch_that_faulted_names_the_kernel(case: Case) -> None:
    outcome = Outcome(case.name, "fault", Fault("trap", "trap", position=0))
    assert where(case, "fault", "trap: trap", outcome=outcome) == ("k.cu", 4)


def test_the_line_of_an_inlined_function_has_its_calls(case: Case, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    header, main = tmp_path / "parts" / "dot.cuh", Path(case.source.path)
    header.write_text("__device__ float dot(float x) { return x; }\n")
    main.write_text(f'#include "parts/dot.cuh"\n{KERNELS}')
    reason = "race: write at dot.cuh:1, called at lib.h:3, called at k.cu:5 and read at k.cu:6, with no barrier between"
    location = located(Verdict(case.job, case.name, "fault", reason), case).location
    assert location == SourceLocation(str(header), 1, (SourceLocation(str(main), 5),))


def test_without_a_definition_it_is_the_job(case: Case) -> None:
    Path(case.source.path).unlink()
    assert where(replace(case, source=replace(case.source, path="/nowhere/k.cu")), "new") == (
        "job.yaml",
        0,
    )


def test_a_location_that_is_known_stays(case: Case) -> None:
    known = SourceLocation("/p/job.yaml", 4)
    assert located(Verdict(case.job, case.name, "error", "k.cu:5", location=known), case).location == known
