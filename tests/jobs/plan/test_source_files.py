from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.jobs import plan
from gpuregress.jobs.plan.source_files import names
from gpuregress.store.project import Project
from tests.jobs.plan.projects import only, project

TABLE = "__constant__ float table[4];\n"
HEADER = '#include "table.cuh"\n'
JOB = """\
source: ../kernels/one.cu
buffers:
  y: {dtype: float32, shape: [4]}
  t: {dtype: float32, shape: [4], fill: ones, symbol: SYMBOL}
launches:
  - {kernel: a, grid: [1], block: [4], args: [y]}
  - {kernel: b, source: ../kernels/two.cu, grid: [1], block: [4], args: [y], repeat: 2}
"""
KERNEL = 'extern "C" __global__ void {}(float *y) {{ y[threadIdx.x] = 1; }}\n'


def place(root: Path, job: str = JOB, *, one: str = "", two: str = "", symbol: str = "table") -> Project:
    made = project(root, chain=job.replace("SYMBOL", symbol))
    (root / "kernels" / "one.cu").write_text(one + KERNEL.format("a"))
    (root / "kernels" / "two.cu").write_text(two + KERNEL.format("b"))
    (root / "kernels" / "table.cuh").write_text(TABLE)
    return made


def errors(of: Project) -> str:
    with pytest.raises(JobErrors) as caught:
        plan.make(of, [])
    return str(caught.value)


def test_each_launch_takes_its_kernel_from_its_own_source(tmp_path: Path) -> None:
    case = only(place(tmp_path, one=TABLE), "chain")
    assert case.source_names == ("one.cu", "two.cu")
    assert [launch.source for launch in case.launches] == [0, 1, 1]
    assert [source.kernels for source in case.sources] == [("a",), ("b",)]
    assert case.launches[1] is case.launches[2], "a step that is repeated is one object"


def test_the_job_needs_no_source_where_every_launch_has_one(tmp_path: Path) -> None:
    text = JOB.replace("source: ../kernels/one.cu\n", "").replace("kernel: a,", "kernel: a, source: ../kernels/one.cu,")
    assert only(place(tmp_path, text, one=TABLE), "chain").source_names == ("one.cu", "two.cu")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("source: ../kernels/one.cu\n", "", "source: missing key: launches[0] names no source of its own"),
        ("two.cu", "tow.cu", "launches[1].source: source not found: "),
        ("two.cu", "two.txt", "launches[1].source: "),
        ("source: ../kernels/two.cu", "source: 7", "launches[1].source: source not found: "),
    ],
)
def test_sources_that_are_missing(before: str, after: str, message: str, tmp_path: Path) -> None:
    of = place(tmp_path, JOB.replace(before, after), one=TABLE)
    (tmp_path / "kernels" / "two.txt").write_text("")
    assert message in errors(of)


@pytest.mark.parametrize(("one", "two", "source"), [(TABLE, "", 0), ("", TABLE, 1), ("", HEADER, 1)])
def test_a_symbol_is_found_in_the_source_that_declares_it(one: str, two: str, source: int, tmp_path: Path) -> None:
    case = only(place(tmp_path, one=one, two=two), "chain")
    assert case.buffers["t"].symbol_source == source
    assert [one.symbols for one in case.sources] == [("table",) if at == source else () for at in (0, 1)]


def test_a_symbol_of_two_sources_must_say_which(tmp_path: Path) -> None:
    text = errors(place(tmp_path, one=HEADER, two=HEADER))
    assert "buffers.t.symbol: one.cu and two.cu each have a variable 'table' of their own" in text
    assert "say whose it is: symbol: one.cu:table" in text


@pytest.mark.parametrize("symbol", ["two.cu:table", "../kernels/two.cu:table"])
def test_a_symbol_with_its_source(symbol: str, tmp_path: Path) -> None:
    case = only(place(tmp_path, one=HEADER, two=HEADER, symbol=symbol), "chain")
    assert (case.buffers["t"].symbol, case.buffers["t"].symbol_source) == ("table", 1)


def test_a_symbol_of_no_source_of_the_job(tmp_path: Path) -> None:
    text = errors(place(tmp_path, one=TABLE, symbol="three.cu:table"))
    assert "buffers.t.symbol: three.cu is not a source of this job; its launches use one.cu, two.cu" in text


def test_a_namespace_is_no_source(tmp_path: Path) -> None:
    of = place(tmp_path, one=f"namespace n {{ {TABLE} }}\n", symbol="n::table")
    assert only(of, "chain").buffers["t"].symbol == "n::table"


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    assert names([tmp_path / "a" / "k.cu", tmp_path / "b" / "k.cu"], tmp_path) == ["a/k.cu", "b/k.cu"]
    assert names([tmp_path / "a" / "k.cu"], tmp_path) == ["k.cu"]


def test_the_revision_is_one_of_all_sources(tmp_path: Path) -> None:
    of = place(tmp_path, one=TABLE)
    before = only(of, "chain")
    assert before.revision == before.source_digest[:8]
    for name in ("one.cu", "two.cu"):
        path = tmp_path / "kernels" / name
        text = path.read_text()
        path.write_text(text + "// changed\n")
        assert only(of, "chain").source_digest != before.source_digest
        path.write_text(text)
    assert only(of, "chain").source_digest == before.source_digest


def test_a_reference_has_one_source(tmp_path: Path) -> None:
    launch = "{kernel: b, source: ../kernels/two.cu, grid: [1], block: [4], args: [y]}"
    text = JOB + f"reference: {{y: {{launches: [{launch}]}}}}\n"
    assert "reference.y.launches[0].source: a reference has one source: name it in reference.y.source" in errors(
        place(tmp_path, text, one=TABLE)
    )
