"""The cache of compiled modules: what comes back is what was compiled; damage is compiled again."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest

from gpuregress.foundation.errors import InfeasibleSource, UnsupportedError
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.compilation import object_cache, translate
from gpuregress.virtual_gpu.compilation.translate import compile_module
from gpuregress.virtual_gpu.runtime.program import CLASSES
from gpuregress.virtual_gpu.runtime.record_codec import decode, encode
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
    assert decode(json.loads(json.dumps(encode(module.facts))), CLASSES) == module.facts


def test_a_damaged_record_is_compiled_again(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    module = object_cache.compiled(text, (), cache=cache)
    assert object_cache.compiled(text, (), cache=cache) == module
    for path in tmp_path.rglob("*.json"):
        path.write_text(path.read_text().replace("KernelFacts", "Site"))
    assert object_cache.compiled(text, (), cache=cache) == module


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
