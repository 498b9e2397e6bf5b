"""The cache of compiled modules, and the proof of equal code."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from gpuregress.foundation.errors import InfeasibleSource, UnsupportedError
from gpuregress.gpu import architectures, graphs
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.compilation import object_cache, translate
from gpuregress.virtual_gpu.compilation.translate import compile_module
from gpuregress.virtual_gpu.runtime.program import ModuleFacts
from tests.virtual_gpu.running import Running

SOURCE = """
__device__ int box[4] = {1, 2};
__device__ int *second = box + 1;
extern "C" __global__ void k(int* y, const int* x, int n) {
  __shared__ int own[8];
  own[threadIdx.x & 7] = box[threadIdx.x & 3];
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = (i & 1 ? x[i] : x[i / 2]) + own[i & 7];
}
extern "C" __global__ void other(int* y) { *y = *second; }
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:

    return Path(Running(tmp_path_factory.mktemp("k"), SOURCE).program.ptx).read_text()


def test_a_module_survives_its_way_through_json(text: str) -> None:
    module = compile_module(text, ())
    footprint = module.facts.kernels["k"].footprint
    assert footprint is not None
    assert footprint.footprint.loops
    assert [item.relocations[0].symbol for item in module.facts.variables if item.relocations] == ["box"]
    assert msgspec.json.decode(msgspec.json.encode(module.facts), type=ModuleFacts) == module.facts


def test_a_damaged_record_is_compiled_again(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    module = object_cache.compiled(text, (), cache=cache)
    assert object_cache.compiled(text, (), cache=cache) == module
    for path in tmp_path.rglob("*.json"):
        path.write_text(path.read_text().replace("local_bytes", "wait_sites"))
    assert object_cache.compiled(text, (), cache=cache) == module


def test_a_key_has_all_code_that_decides_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    keyed: list[str | bytes] = []

    def noted(parts: Iterable[str | bytes]) -> str:
        keyed.extend(parts)
        raise UnsupportedError("no key")

    monkeypatch.setattr(cache, "digest", noted)
    with pytest.raises(UnsupportedError):
        object_cache.compiled("no module", (), cache=cache)
    for module in (translate, graphs, architectures):
        assert Path(str(module.__file__)).read_bytes() in keyed


def test_the_garbage_collector_is_off_while_a_module_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path))
    states: list[bool] = []

    def noted(*_arguments: object) -> object:
        states.append(gc.isenabled())
        raise UnsupportedError("no such instruction")

    monkeypatch.setattr(translate, "compile_module", noted)
    with pytest.raises(UnsupportedError):
        object_cache.compiled("no module", (), cache=cache)
    assert states == [False]
    assert gc.isenabled()


def test_a_module_with_too_much_memory_is_refused_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { .shared .b8 box[57024]; ret; }\n"
    large = large.replace("ret;", ".reg .b32 %r<2>; mov.u32 %r1, box; ret;")
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    for _ in range(2):
        with pytest.raises(InfeasibleSource, match="57024 bytes of static shared memory"):
            object_cache.compiled(large, ("k",), cache=cache)
        monkeypatch.setattr(translate, "compile_module", None)


BLOCK = ".reqntid 128"
KERNEL = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
.reqntid 128
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.shared .align 4 .b8 box[64];
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u32 %r1, [k_param_1];
	mov.u32 %r2, %tid.x;
	shr.u32 %r3, %r2, 3;
	setp.lt.s32 %p1, %r2, %r1;
	@%p1 fence.acq_rel.gpu;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	and.b32 %r4, %r3, 31;
	st.global.u32 [%rd3], %r4;
	ret;
}
"""


@pytest.fixture(scope="module")
def llvm_passes() -> None:
    """With them: they are what is tested."""


def is_equivalent(before: str, after: str, kernel: str = KERNEL) -> bool:
    assert before in kernel
    return object_cache.is_equivalent(kernel, kernel.replace(before, after), ["k"])


def test_a_bit_that_is_never_set_does_not_count() -> None:
    assert is_equivalent("and.b32 %r4, %r3, 31", "and.b32 %r4, %r3, 15"), "128 threads have indices below 16 * 8"
    assert not is_equivalent("and.b32 %r4, %r3, 31", "and.b32 %r4, %r3, 7")
    assert is_equivalent("mul.wide.u32 %rd2", "mul.wide.s32 %rd2")


def test_without_a_required_block_an_index_is_below_the_largest() -> None:
    kernel = KERNEL.replace(BLOCK, "")
    assert not is_equivalent("and.b32 %r4, %r3, 31", "and.b32 %r4, %r3, 15", kernel)
    assert is_equivalent("%r3, 255", "%r3, 127", kernel.replace("%r3, 31", "%r3, 255"))
    assert is_equivalent("mul.wide.u32 %rd2", "mul.wide.s32 %rd2", kernel)


@pytest.mark.parametrize("axis", ["y", "z"])
def test_a_required_block_of_one_axis_has_no_index_on_the_others(axis: str) -> None:
    kernel = KERNEL.replace("%tid.x", f"%tid.{axis}").replace("shr.u32 %r3, %r2, 3", "mov.u32 %r3, %r2")
    assert is_equivalent("and.b32 %r4, %r3, 31", "and.b32 %r4, %r3, 0", kernel)


def test_a_fence_under_another_condition_is_another_program() -> None:
    """It has no code on this device: without a mark, nothing would differ."""
    assert not is_equivalent("setp.lt.s32 %p1", "setp.le.s32 %p1")
    assert is_equivalent("setp.lt.s32 %p1", "setp.le.s32 %p1", KERNEL.replace("@%p1 fence.acq_rel.gpu;", ""))


def test_another_mask_is_another_program() -> None:
    shuffle = "mov.u32 %r6, -1; shfl.sync.bfly.b32 %r7, %r2, 1, 31, %r6; st.global.u32 [%rd3+512], %r7;"
    kernel = KERNEL.replace("	ret;", f"	{shuffle}\n	ret;")
    assert not is_equivalent("mov.u32 %r6, -1", "mov.u32 %r6, 65535", kernel)
    assert is_equivalent("and.b32 %r4, %r3, 31", "and.b32 %r4, %r3, 15", kernel)


def test_line_information_does_not_count() -> None:
    assert is_equivalent("	ret;", "	// the end\n	ret;")


def test_shared_memory_counts_though_the_code_is_the_same() -> None:
    kernel = KERNEL.replace("mul.wide.u32", "mov.u32 %r5, box; st.shared.u32 [%r5], %r2;\n	mul.wide.u32")
    assert not is_equivalent("box[64]", "box[68]", kernel)


def test_a_large_program_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "MOST_CHARACTERS", 100)
    assert not is_equivalent("	ret;", "	ret; // the end")


def test_what_a_launch_needs_counts_though_the_code_is_the_same() -> None:
    assert not is_equivalent(".maxntid 128", ".maxntid 256", KERNEL.replace(BLOCK, ".maxntid 128"))
