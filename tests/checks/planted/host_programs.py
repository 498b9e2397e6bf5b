"""The pairs as a CUDA program with a main(), so that other tools can be asked for the same errors.

    python -m tests.checks.planted programs FOLDER
    cd FOLDER && nvcc -arch=sm_90 -lineinfo -DPLANTED -o planted *.cu && nvcc -arch=sm_90 -lineinfo -o clean *.cu
    compute-sanitizer --tool racecheck ./planted warps_write_read

The program launches the kernels that its arguments name, one after the other. `pairs.tsv` lists them. Those with
textures and surfaces are left out.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.checks.planted import pairs
from tests.checks.planted.detection import ELEMENTS
from tests.checks.planted.pairs import Pair, Parameter

_MAIN = """\
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

static std::vector<void*> buffers;

template <class T> static T* buffer(bool is_input, bool is_unwritten)
{
    T* there = nullptr;
    cudaMalloc(&there, ELEMENTS * sizeof(T));
    buffers.push_back(there);
    std::vector<T> values(ELEMENTS, T(0));
    for (int i = 0; is_input && i < ELEMENTS; ++i) values[i] = T(i % 61 + 1);
    if (!is_unwritten) cudaMemcpy(there, values.data(), ELEMENTS * sizeof(T), cudaMemcpyHostToDevice);
    return there;
}

static void launch(const void* kernel, dim3 grid, dim3 block, size_t shared, bool is_cooperative, void** arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.attrs = &attribute;
    config.numAttrs = is_cooperative;
    cudaError_t error = cudaLaunchKernelExC(&config, kernel, arguments);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    printf("%s\\n", cudaGetErrorString(error));
    fflush(stdout);
    for (void* there : buffers) cudaFree(there);
    buffers.clear();
}

"""


def write(folder: Path) -> int:
    """Write sources, main.cu and pairs.tsv into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in pairs.FOLDER.iterdir():
        shutil.copy(path, folder)
    listed = tuple(pair for pair in pairs.every_pair() if not any(item.image for item in pair.parameters))
    (folder / "main.cu").write_text(main_program(listed), encoding="utf-8")
    rows = ("\t".join(_row(pair)) for pair in listed)
    (folder / "pairs.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return 0


def main_program(listed: tuple[Pair, ...]) -> str:
    """The text of main.cu."""
    declared = "".join(_declaration(pair) for pair in listed)
    launches = "".join(_launch(pair) for pair in listed)
    return (
        _MAIN.replace("ELEMENTS", str(ELEMENTS))
        + declared
        + "\nint main(int count, char** names)\n{\n    for (int k = 1; k < count; ++k) {\n"
        + '        printf("@@ %s: ", names[k]);\n        fflush(stdout);\n'
        + launches
        + "    }\n    cudaDeviceReset();\n}\n"
    )


def _declaration(pair: Pair) -> str:
    parameters = ", ".join(_declared(item) for item in pair.parameters)
    return f'extern "C" __global__ void {pair.name}({parameters});\n'


def _declared(parameter: Parameter) -> str:
    const = "const " if parameter.is_input else ""
    return f"{const}{parameter.type}{'*' if parameter.is_buffer else ''} {parameter.name}"


def _launch(pair: Pair) -> str:
    values = "".join(f"            {_argument(item)}\n" for item in pair.parameters)
    pointers = ", ".join(f"&{item.name}" for item in pair.parameters)
    grid, block = (", ".join(map(str, shape)) for shape in (pair.grid, pair.block))
    cooperative = str(pair.is_cooperative).lower()
    return (
        f'        if (!strcmp(names[k], "{pair.name}")) {{\n{values}'
        f"            void* arguments[] = {{{pointers}}};\n"
        f"            launch((const void*){pair.name}, dim3({grid}), dim3({block}), {pair.shared}, {cooperative}, "
        "arguments);\n        }\n"
    )


def _argument(item: Parameter) -> str:
    if not item.is_buffer:
        return f"{item.type} {item.name} = {item.value};"
    written = f"{str(item.is_input).lower()}, {str(item.is_unwritten).lower()}"
    return f"{item.type}* {item.name} = buffer<{item.type}>({written});"


def _row(pair: Pair) -> tuple[str, ...]:
    first, second = (",".join(map(str, sorted(lines))) for lines in (pair.first, pair.second))
    return (pair.program, pair.name, " or ".join(pair.kinds), pair.variant, pair.variable, first, second)
