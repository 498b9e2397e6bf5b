from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.lab.host_programs import library, program
from gpuregress.lab.host_programs.interpreter import Interpreter
from gpuregress.lab.host_programs.objects import ArrayPointer
from tests.lab.host_programs.launched import KERNEL, launches


@pytest.mark.parametrize(
    ("text", "number"), [("0x10u", 16), ("1'000", 1000), ("2.5f", 2.5), ("1e3", 1000.0), ("010", 8), ("4ULL", 4)]
)
def test_literals(text: str, number: float) -> None:
    value = library.number(text)
    assert value is not None
    assert value.number == number
    assert isinstance(value.number, type(number))


def test_sizes_of_types() -> None:
    assert [library.size_of(one) for one in ("float", "double*", "float4", "dim3", "Unknown")] == [4, 8, 16, 12, None]


def test_memory_of_thrust_symbols_and_launches_by_pointers(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    source.write_text("""__constant__ float taps[9];
__global__ void k(float *y, int n) {}
int main() {
    int n = 500;
    float h[9] = {0};
    thrust::device_vector<float> v(n, 3.0f);
    cudaMemcpyToSymbol(taps, h, sizeof(h));
    float *y = thrust::raw_pointer_cast(v.data());
    cudaMemset(y, 0, v.size() * sizeof(float));
    void *args[] = {&y, &n};
    cudaLaunchCooperativeKernel((void *)k, dim3(2), dim3(64), args, 128, 0);
}
""")
    run = Interpreter(program.read(source))
    run.run()
    (launch,) = run.launches
    assert (launch.kernel, launch.shared.number, launch.texts) == ("k", 128, ("y", "n"))
    y = launch.arguments[0]
    assert isinstance(y, ArrayPointer)
    assert y.memory.bytes is not None
    assert (y.memory.name, y.memory.bytes.number, y.memory.contents.is_zeroed) == ("v", 2000, True)
    size = run.symbols["taps"].bytes
    assert size is not None
    assert size.number == 36


@pytest.mark.parametrize(
    ("call", "threads"),
    [
        ("cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0)", 2048),
        ("cudaDeviceGetAttribute(&threads, ::cudaDevAttrMaxBlockDimZ, 0)", 64),
        ("cudaDeviceGetAttribute(&threads, cudaDevAttrOther, 0)", None),
        ("cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, k)", None),
        ("cudaMemcpy(&threads, device, 4, cudaMemcpyDeviceToHost)", None),
        ("cudaGetDeviceCount(&threads)", 1),
        ('fscanf(file, "%d", &threads)', None),
        ("std::cin >> blocks >> threads", None),
    ],
)
def test_numbers_that_a_library_writes(tmp_path: Path, call: str, threads: int | None) -> None:
    source = tmp_path / "app.cu"
    source.write_text(f"""__global__ void k() {{}}
int main() {{
    int blocks = 7, threads = 7, *device;
    cudaMalloc(&device, 4);
    {call};
    k<<<1, threads>>>();
}}
""")
    run = Interpreter(program.read(source))
    run.run()
    (launch,) = run.launches
    assert launch.block is not None
    first = launch.block[0]
    assert (first.number if first.is_known else None) == threads


def test_a_copied_number_is_what_its_array_holds(tmp_path: Path) -> None:
    text = "int main() { float a = 5, *x; cudaMalloc(&x, 4); cudaMemcpy(x, &a, 4, cudaMemcpyHostToDevice);"
    (launch,) = launches(tmp_path, f"{KERNEL}{text} k<<<1, 1>>>(x, x, 1); }}\n")
    pointer = launch.arguments[0]
    assert isinstance(pointer, ArrayPointer)
    assert pointer.memory.contents.stored is not None
    assert pointer.memory.contents.stored.number == 5
    assert pointer.memory.contents.is_certain
