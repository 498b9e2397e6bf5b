from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, FunctionArgument
from gpuregress.jobs import plan
from gpuregress.store.project import find
from tests import workshop
from tests.workshop import Workshop

SOURCE = """\
#include "lib.cuh"
#define HD __host__ __device__
namespace g {
template <typename T> HD T clampz(T x, T lo, T hi) { return x < lo ? lo : x > hi ? hi : x; }
__device__ void split(float p, float& a) { a = p; }
__device__ float at(const float* data, int i) { return data[i]; }
__device__ float block_sum(float v, float* scratch) { return v; }
}
__global__ void kern(float* x) {}
struct V { float a; __device__ float norm() const { return a; } };
__device__ void nothing(float x) {}
__device__ void grow(float& x) { x += 1; }
__device__ float dflt(float x, float scale = 2.0f, int k = 3) { return x * scale + k; }
template <int N> __device__ float nth(float x) { return x * N; }
"""
X = "  x: {dtype: float32, shape: [n], fill: ones}\n"
RESULT = "  result: {dtype: float32, shape: [n]}\n"
THREE = X + "  lo: {dtype: float32, shape: [n], fill: ones}\n  hi: {dtype: float32, shape: [n], fill: ones}\n"
V = "  v: {dtype: float32, shape: [8 * n], fill: ones}\n"
BLOCK = "function: {name: block_sum, scope: block, block: [8], shared_arrays: {scratch: 2 * n}}"


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = workshop.make(tmp_path)
    made.write("kernels/f.cu", SOURCE)
    made.write("kernels/lib.cuh", "__device__ inline float far_away(float x) { return x; }\n")
    return made


def case(shop: Workshop, function: str, buffers: str, more: str = "") -> Case:
    text = f"source: ../kernels/f.cu\nparameters: {{n: [4]{more}}}\n{function}\nbuffers:\n{buffers}"
    (planned,) = plan.make(find(shop.root), (str(shop.write("configs/f.yaml", text)),)).cases
    return planned


def test_one_launch_calls_the_function_for_each_element_of_the_result(shop: Workshop) -> None:
    planned = case(shop, "function: clampz<float>", THREE + RESULT)
    (launch,) = planned.launches
    assert (launch.kernel, launch.grid, launch.block) == ("g::clampz<float>", (1, 1, 1), (256, 1, 1))
    assert [argument.buffer or argument.text for argument in launch.args] == ["result", "x", "lo", "hi", "4"]
    assert planned.function is not None
    assert (planned.function.calls, planned.function.result) == (4, "result")
    assert planned.source.kernels == ("g::clampz<float>",)
    assert "gpuregress_call" in planned.source.harness
    assert planned.dump == ("result",)


def test_a_parameter_of_the_job_is_a_number(shop: Workshop) -> None:
    planned = case(shop, "function: dflt", X + RESULT, ", scale: [1.5]")
    assert planned.function is not None
    assert planned.function.arguments[1] == FunctionArgument("scale", "float", "parameter")
    assert [argument.text for argument in planned.launches[0].args][2:] == ["1.5", "4"]


def test_a_reference_is_counted_where_nothing_is_returned(shop: Workshop) -> None:
    planned = case(
        shop, "function: split", "  p: {dtype: float32, shape: [9], fill: ones}\n  a: {dtype: float32, shape: [9]}\n"
    )
    assert planned.function is not None
    assert (planned.function.calls, planned.function.result) == (9, "")
    assert planned.launches[0].args[0].kind == "null"


def test_a_reference_is_a_result_even_with_a_fill(shop: Workshop) -> None:
    buffers = "  p: {dtype: float32, shape: [9], fill: ones}\n  a: {dtype: float32, shape: [9], fill: ones}\n"
    planned = case(shop, "function: split", f"{buffers}checks: {{p: [finite]}}\n")
    assert planned.dump == ("p", "a")
    assert set(planned.compare) == {"p", "a"}
    named = case(shop, "function: split\ndump: [p]", buffers)
    assert named.dump == ("p",)


def test_a_block_makes_one_call(shop: Workshop) -> None:
    planned = case(shop, BLOCK, V + RESULT)
    assert planned.function is not None
    assert (planned.launches[0].grid, planned.launches[0].block) == ((4, 1, 1), (8, 1, 1))
    assert "gpuregress_p1[8];" in planned.source.harness
    beside = "function: {name: block_sum, shared_arrays: {scratch: 2 * n}}\nscope: block\nblock: [2 * n]"
    assert case(shop, beside, V + RESULT).launches == planned.launches


def test_a_function_of_a_header_and_a_hole_in_its_name(shop: Workshop) -> None:
    assert case(shop, "function: far_away", X + RESULT).launches[0].kernel == "far_away"
    assert case(shop, 'function: "nth<{2 * n}>"', X + RESULT).launches[0].kernel == "nth<8>"


@pytest.mark.parametrize(
    ("function", "buffers", "message"),
    [
        (
            "function: clampy",
            X,
            "3: function: kernels/f.cu has no device function 'clampy'; it has g::clampz<T>(T, T, T), ",
        ),
        ("function: kern", X + RESULT, "3: function: kern of kernels/f.cu is a kernel: launch it, with launches:"),
        ("function: norm", X + RESULT, "3: function: V::norm() of kernels/f.cu needs an object of its class"),
        ("function: nothing", X + RESULT, "6: buffers.result: nothing(float) returns nothing"),
        (
            "function: dflt",
            X,
            "4: buffers: there is no buffer 'result' for what dflt(float, float, int) returns, float",
        ),
        (
            "function: dflt",
            X.replace("[n]", "[n + 1]") + RESULT,
            "5: buffers.x.shape: x has 5 elements and result has 4",
        ),
        (
            "function: dflt",
            X.replace(", fill: ones", "") + RESULT,
            "5: buffers.x: has no fill, and dflt(float, float, int)",
        ),
        ("function: dflt", X + V + RESULT, "6: buffers.v: v is never used: no parameter of the function has its name"),
        ("function: {name: dflt, blocks: 3}", X + RESULT, "3: function.blocks: is for scope: block"),
        ("function: {name: dflt, block: [8]}\nblock: [4]", X + RESULT, "4: block: is given here and in function.block"),
        (
            "function: {name: dflt, block: [2000]}",
            X + RESULT,
            "3: function.block: 2000 x 1 x 1 has 2000 threads; the limit of a block is 1024",
        ),
        (
            "function: {name: dflt, block: [64, 32]}",
            X + RESULT,
            "3: function.block: 64 x 32 x 1 has 2048 threads; the limit of a block is 1024",
        ),
        (BLOCK.replace("scratch", "scratsch"), V + RESULT, "no buffer for parameter 'scratch' (float*) of"),
        (BLOCK, V.replace("8 * n", "7 * n") + RESULT, "or one for each thread of a block: 32"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, function: str, buffers: str, message: str
) -> None:
    monkeypatch.chdir(shop.root)
    with pytest.raises(JobErrors) as caught:
        case(shop, function, buffers)
    assert message in "\n".join(map(str, caught.value.errors))
    assert {one.key for one in caught.value.errors} - {"dump"} != set()
    assert len(caught.value.errors) <= 2


def test_a_compiled_source_has_no_functions_to_call(shop: Workshop) -> None:
    shop.write("kernels/f.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n")
    text = f"source: ../kernels/f.ptx\nfunction: f\nbuffers:\n{X.replace('[n]', '[4]')}"
    with pytest.raises(JobErrors, match=r"f\.ptx is compiled already"):
        plan.make(find(shop.root), (str(shop.write("configs/f.yaml", text)),))


def test_a_filled_buffer_that_a_reference_writes_is_dumped(shop: Workshop) -> None:
    assert case(shop, "function: grow", X).dump == ("x",)


def test_a_function_that_writes_nothing_can_never_fail(shop: Workshop) -> None:
    with pytest.raises(JobErrors, match="dump: nothing is dumped, checked or expected"):
        case(shop, "function: nothing", X)
