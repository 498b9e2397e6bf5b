from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import CodeLine
from gpuregress.foundation.records import Case, Fault, Outcome, SourceLocation, Verdict
from gpuregress.gpu.records import replace
from gpuregress.session.source_locations import in_project, located
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


def where(case: Case, status: str, line: CodeLine | None = None, **changes: object) -> tuple[str, int]:
    state = status if status in ("fault", "timeout", "error") else "done"
    outcome = Outcome(case.name, state, source_line=line, **changes)  # type: ignore[arg-type]  # a state by name
    verdict = Verdict(case.job, case.name, status, "job.yaml:3 and k.cu:5 are data", outcome=outcome)  # type: ignore[arg-type]
    location = located(verdict, case).location
    assert location is not None
    return Path(location.file).name, location.line


@pytest.mark.parametrize(
    ("status", "line", "expected"),
    [
        ("fault", CodeLine("k.cu", 5), ("k.cu", 5)),
        ("timeout", CodeLine("/elsewhere/k.cu", 5), ("k.cu", 5)),
        ("error", CodeLine("k.cu", 2), ("k.cu", 2)),
        ("error", None, ("job.yaml", 0)),
        ("error", CodeLine("another.cu", 7), ("job.yaml", 0)),
        ("error", CodeLine("", 7), ("job.yaml", 0)),
        ("differ", CodeLine("k.cu", 5), ("k.cu", 10)),
        ("timeout", None, ("k.cu", 10)),
    ],
)
def test_a_failure_has_a_line(case: Case, status: str, line: CodeLine | None, expected: tuple[str, int]) -> None:
    assert where(case, status, line) == expected


def test_the_launch_that_faulted_names_the_kernel(case: Case) -> None:
    assert where(case, "fault", fault=Fault("trap", "trap", position=0)) == ("k.cu", 4)


def test_the_line_of_an_inlined_function_has_its_calls(case: Case, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    header, main = tmp_path / "parts" / "dot.cuh", Path(case.source.path)
    header.write_text("__device__ float dot(float x) { return x; }\n")
    main.write_text(f'#include "parts/dot.cuh"\n{KERNELS}')
    line = CodeLine("dot.cuh", 1, (("lib.h", 3), ("k.cu", 5)))
    expected = SourceLocation(str(header), 1, (SourceLocation(str(main), 5),))
    assert in_project(line, case) == expected
    assert in_project(replace(line, file=str(header)), case) == expected
    assert in_project(replace(line, file="lib.h"), case) == expected.calls[0]


def test_without_a_definition_it_is_the_job(case: Case) -> None:
    Path(case.source.path).unlink()
    assert where(replace(case, source=replace(case.source, path="/nowhere/k.cu")), "new") == ("job.yaml", 0)


def test_a_location_that_is_known_stays(case: Case) -> None:
    known = SourceLocation("/p/job.yaml", 4)
    assert located(Verdict(case.job, case.name, "error", location=known), case).location == known
