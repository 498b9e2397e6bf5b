from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation import records
from gpuregress.foundation.records import Argument, Case, Entry, Launch, Parameter, Program
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.store.project import Project
from tests import fakes
from tests.jobs.plan.projects import JOB, project
from tests.workshop import Workshop


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


def entry(*kinds: Any) -> records.Entry:
    return records.Entry("mangled", tuple(records.Parameter(size, size, kind, name) for size, kind, name in kinds))


def program(launch: Launch, actual: records.Entry) -> records.Program:
    return records.Program("key", "", "", {launch.kernel: actual}, {}, "nvrtc", (), "sm_90")


ALIASES = """\
typedef float real;
template <typename T> __global__ void scaled(real* x, T* y, const unsigned* bits, char* raw, float2* pairs) {}
"""


def pointer_errors(tmp_path: Path, kernel: str, argument: str = "y") -> str:
    job = f"""\
source: ../kernels/scaled.cu
buffers:
  x: {{dtype: float64, shape: [4], fill: ones}}
  y: {{dtype: float32, shape: [4], fill: ones}}
  i: {{dtype: int32, shape: [4], fill: ones}}
launches:
  - {{kernel: "{kernel}", grid: [1], block: [1], args: [{argument}, y, i, x, y]}}
dump: all
"""
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    example = project(folder, scaled=job)
    (folder / "kernels/scaled.cu").write_text(ALIASES)
    case = only(example, "scaled")
    kinds = [(8, "pointer", name) for name in ("x", "y", "bits", "raw", "pairs")]
    errors = plan.check_programs(case, [program(case.launches[0], entry(*kinds))])
    return "\n".join(map(str, errors))


def test_buffers_against_what_pointers_point_to(tmp_path: Path) -> None:
    assert pointer_errors(tmp_path, "scaled<float>") == ""
    message = pointer_errors(tmp_path, "scaled<float>", "x")
    assert "launches[0].args[0]: the buffer x holds float64 and parameter 'x' points to float32 (real*)" in message
    assert "`dtype: float32`, or write {pointer: x} to pass its memory as it is" in message
    assert pointer_errors(tmp_path, "scaled<float>", "{pointer: x}") == ""
    for type_, dtype in (("int", "int32"), ("bool", "bool")):
        message = pointer_errors(tmp_path, f"scaled<{type_}>")
        assert f"the buffer y holds float32 and parameter 'y' points to {dtype} (T*)" in message


def test_an_integer_is_no_float_of_its_size(tmp_path: Path) -> None:
    assert "the buffer i holds int32 and parameter 'x' points to float32" in pointer_errors(
        tmp_path, "scaled<float>", "i"
    )


GOOD = entry((8, "pointer", "sum"), (8, "word", "x"), (4, "integer", "n"))


@pytest.mark.parametrize(
    ("actual", "key", "message"),
    [
        (GOOD, "", ""),
        (entry((8, "pointer", "sum")), "launches[0].args", "block_sum<float> takes 1 argument, not 3"),
        (
            entry((8, "pointer", "sum"), (8, "integer", "x"), (4, "integer", "n")),
            "launches[0].args[1]",
            "the buffer x is a pointer and parameter 'x' is an integer of 8 bytes: write {int64: …}",
        ),
        (
            entry((8, "pointer", "sum"), (8, "pointer", "x"), (8, "integer", "n")),
            "launches[0].args[2]",
            "int32 has 4 bytes and parameter 'n' is an integer of 8 bytes",
        ),
        (
            entry((8, "pointer", "sum"), (8, "pointer", "x"), (4, "float", "n")),
            "launches[0].args[2]",
            "int32 is an integer and parameter 'n' is a float of 4 bytes",
        ),
        (
            entry((8, "pointer", "sum"), (8, "pointer", "x"), (8, "pointer", "n")),
            "launches[0].args[2]",
            "int32 is a number and parameter 'n' is a pointer of 8 bytes: name a buffer",
        ),
    ],
)
def test_arguments_against_the_signature(actual: records.Entry, key: str, message: str, tmp_path: Path) -> None:
    case = only(project(tmp_path, reduce=JOB), "reduce/n=1000,tile=128")
    errors = plan.check_programs(case, [program(case.launches[0], actual)])
    if not key:
        assert errors == ()
        return
    (error,) = errors
    declared = "block_sum<T>(T* sum, const T* x, int n)"
    shown = declared if len(actual.parameters) == 3 else "block_sum<float>(pointer of 8 bytes)"
    assert (error.path, error.line, error.key) == (tmp_path / "configs" / "reduce.yaml", 13, key)
    assert error.message == f"{message}; the kernel is {shown}"


@pytest.mark.parametrize(("size", "good"), [(24, True), (20, False)])
def test_structs_are_laid_out_as_in_c(size: int, good: bool, tmp_path: Path) -> None:  # noqa: FBT001 - from a table
    text = JOB.replace("{int32: n}", "{struct: [{int8: 1}, x, {int32: n}]}")
    case = only(project(tmp_path, reduce=text), "reduce/n=1000,tile=128")
    actual = replace(GOOD, parameters=(*GOOD.parameters[:2], records.Parameter(size, 8, "struct", "n")))
    assert (not plan.check_programs(case, [program(case.launches[0], actual)])) == good


VARIABLES_KERNEL = """// $Revision: 1.0 $
__device__ char big[3000];
__constant__ float taps[4];
extern "C" __global__ void k(float *y) { y[0] = big[threadIdx.x] + taps[threadIdx.x]; }
"""


VARIABLES_JOB = """source: ../kernels/k.cu
buffers:
  y: {{dtype: float32, shape: [250]}}
  taps: {{dtype: float32, shape: [4], fill: ones, symbol: taps}}
launches:
  - {{kernel: k, grid: [1], block: [1], args: [y]}}
limits: {{memory: {memory}}}
"""


@pytest.mark.parametrize(("memory", "fits"), [(4016, True), (4015, False)])
def test_variables_and_buffers_together(tmp_path: Path, memory: int, fits: bool) -> None:  # noqa: FBT001 - of a table
    shop = Workshop(tmp_path)
    shop.write("kernels/k.cu", VARIABLES_KERNEL)
    shop.write("configs/k.yaml", VARIABLES_JOB.format(memory=memory))
    output = shop.call("run", "--device", "cpu")
    assert output.exit_code == (1 if fits else 2)
    if not fits:
        words = "k.yaml:1: source: its variables take 3016 bytes, the buffers 1000 bytes: more than the limit of 4015"
        assert words in output.stderr
        assert not (shop.root / "runs/latest").exists()


@pytest.mark.parametrize(
    ("dtype", "is_refused"), [("float64", False), ("float32", True), ("uint8", False), ("uint32", False)]
)
def test_the_elements_of_a_variable(tmp_path: Path, dtype: str, is_refused: bool) -> None:  # noqa: FBT001 - of a table
    job = VARIABLES_JOB.format(memory="1GB").replace("float32, shape: [4]", f"{dtype}, shape: [4]")
    example = project(tmp_path, k=job)
    text = VARIABLES_KERNEL.replace("float taps", "real taps")
    (tmp_path / "kernels/k.cu").write_text(f"using real = double;\nnamespace a {{ {text} }}")
    case = only(example, "k")
    errors = plan.check_programs(case, [program(case.launches[0], entry((8, "pointer", "y")))])
    assert [(error.key, error.line) for error in errors] == ([("buffers.taps.dtype", 4)] if is_refused else [])
    assert not is_refused or "the variable taps is real: give the buffer `dtype: float64`" in errors[0].message


CONSTANTS_KERNEL = """// $Revision: 1.0 $
__constant__ float taps[4];
__constant__ float scale;
__constant__ float set = 2;
extern "C" __global__ void k(float *y) { y[threadIdx.x] = taps[threadIdx.x] + set * scale; }
extern "C" __global__ void plain(float *y) { y[threadIdx.x] = 1; }
"""


CONSTANTS_JOB = """source: ../kernels/k.cu
parameters: {n: [1, 2, 4]}
buffers:
  y: {dtype: float32, shape: [n]}
  taps: {dtype: float32, shape: [4], fill: ones, symbol: taps}
launches:
  - {kernel: k, grid: [1], block: [n], args: [y]}
  - {kernel: k, grid: [1], block: [n], args: [y]}
"""


def test_it_is_told_once_for_a_job(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/k.cu", CONSTANTS_KERNEL)
    shop.write("configs/k.yaml", CONSTANTS_JOB)
    shop.write("configs/plain.yaml", CONSTANTS_JOB.replace("kernel: k,", "kernel: plain,"))
    output = shop.call("run", "--device", "cpu")
    assert output.exit_code == 1  # there is no baseline
    notes = [line for line in output.stdout.splitlines() if "__constant__" in line]
    assert notes == ["note: k: no buffer fills the __constant__ variable scale, which k reads: it is zero"]
    shop.write(
        "configs/k.yaml",
        CONSTANTS_JOB.replace("launches:", "  s: {dtype: float32, shape: [1], fill: ones, symbol: scale}\nlaunches:"),
    )
    assert "__constant__" not in shop.call("run", "--device", "cpu").stdout


WORD = Parameter(8, 8, "word")


FOUR = Parameter(4, 4, "struct")


def _problems(*arguments: Argument, cubin: str = "/k.cubin", ptx: str = "") -> list[str]:
    program = Program("key", ptx, cubin, {"k": Entry("k", (WORD, FOUR))}, {}, "cubin as given", (), "sm_90")
    case = fakes.case("k", launches=(Launch("k", (1, 1, 1), (1, 1, 1), 0, arguments),))
    return [error.message for error in plan.check_programs(case, [program])]


def test_machine_code_tells_sizes_only() -> None:
    double, single = Argument("scalar", dtype="float64"), Argument("scalar", dtype="float32")
    pair = Argument("struct", fields=(single, single))
    for first in (double, pair, Argument("buffer", buffer="x"), Argument("null"), Argument("scalar", dtype="int64")):
        assert _problems(first, single) == []
    (message,) = _problems(single, single)
    assert message.startswith("float32 has 4 bytes and the parameter has 8 bytes; the kernel is k(")


def test_ptx_tells_more() -> None:
    (message,) = _problems(Argument("scalar", dtype="float64"), Argument("scalar", dtype="float32"), ptx="/k.ptx")
    assert message.startswith("float64 is a float and")
