"""Builds of the suite in C++, with nvcc and without it."""

from __future__ import annotations

import importlib.util
import re
import struct
import subprocess
from pathlib import Path

from cuda.bindings import nvrtc

from gpuregress.programs import libraries

SUITE = Path(__file__).parent / "suite"
_VARIABLES = {"factor": "float", "calls": "unsigned"}
_MANAGED = "total"


def headers() -> Path | None:
    """Return the folder of the runtime's headers that are installed with the tests, None where they are not."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place, "cu13", "include")
        if (folder / "cuda_runtime_api.h").exists():
            return folder
    return None


def build_with_nvcc(folder: Path, *flags: str) -> Path:
    """Build the suite as a user does, with further flags of nvcc; return the program."""
    program = folder / "suite"
    options = [
        "-std=c++17",
        "-cudart",
        "shared",
        "-gencode",
        "arch=compute_90,code=compute_90",
        "-lineinfo",
        "-x",
        "cu",
    ]
    sources = [SUITE / "suite.cpp", SUITE / "kernels.cu"]
    subprocess.run(["nvcc", *options, *flags, *map(str, sources), "-o", str(program)], check=True, capture_output=True)
    return program


def build_with_nvrtc(folder: Path, include: Path) -> Path:
    """Build the suite with NVRTC and g++, and a registration that is written here; return the program."""
    program, registration = folder / "suite", folder / "registration.cpp"
    registration.write_text(_registration(_ptx(include)), encoding="utf-8")
    sources = [str(SUITE / "suite.cpp"), str(registration)]
    options = ["-std=c++17", "-w", "-isystem", str(include), "-Wl,--allow-shlib-undefined"]
    subprocess.run(["g++", *options, *sources, str(libraries.runtime()), "-o", str(program)], check=True)
    return program


def _ptx(include: Path) -> bytes:
    """Compile the kernels to PTX."""
    path = SUITE / "kernels.cu"
    folders = (include, include / "cccl", SUITE)
    options = [b"--gpu-architecture=compute_90", b"-lineinfo", *(f"-I{folder}".encode() for folder in folders)]
    _, program = nvrtc.nvrtcCreateProgram(path.read_bytes(), str(path).encode(), 0, None, None)
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    # The bindings write into a bytes object. Never one of length 1: Python shares those, and all others would change.
    log = bytes(size + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert result == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = bytes(size + 1)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx[:size]


def fat_binary(ptx: bytes) -> bytes:
    """Pack PTX into a fat binary, not compressed."""
    data = ptx + b"\0" * (-len(ptx) % 8)
    entry = struct.pack("<HHIQ", 1, 0x101, 64, len(data)).ljust(28, b"\0") + struct.pack("<I", 90)
    entry = entry.ljust(64, b"\0") + data
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry


def _registration(ptx: bytes) -> str:
    """Write what nvcc generates: the image, a stub for each kernel, host variables, and the calls before main."""
    kernels = re.findall(r"^KERNEL (\w+)\(", (SUITE / "kernels.h").read_text(encoding="utf-8"), re.MULTILINE)
    image = ",".join(map(str, fat_binary(ptx)))
    lines = [
        "#include <stddef.h>",
        'extern "C" {',
        "void **__cudaRegisterFatBinary(void *);",
        "void __cudaRegisterFatBinaryEnd(void **);",
        "void __cudaUnregisterFatBinary(void **);",
        "void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *,",
        "                            int *);",
        "void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);",
        "void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);",
        "char __cudaInitModule(void **);",
        f"alignas(8) static const unsigned char image[] = {{{image}}};",
        "static const struct { int magic, version; const void *data; void *file; } wrapper",
        "    = {0x466243b1, 1, image, 0};",
        *(f"void {kernel}() {{}}" for kernel in kernels),
        "}",
        *(f"static {kind} {name};" for name, kind in _VARIABLES.items()),
        *(f"extern const void *const {name}_symbol = &{name};" for name in _VARIABLES),
        f"static int *{_MANAGED};",
        "static void **handle;",
        f"int &managed_{_MANAGED}() {{ __cudaInitModule(handle); return *{_MANAGED}; }}",
        "__attribute__((constructor)) static void enter() {",
        "handle = __cudaRegisterFatBinary((void *)&wrapper);",
        *(
            f'__cudaRegisterFunction(handle, (const char *){kernel}, 0, "{kernel}", -1, 0, 0, 0, 0, 0);'
            for kernel in kernels
        ),
        *(f'__cudaRegisterVar(handle, (char *)&{name}, 0, "{name}", 0, 4, 0, 0);' for name in _VARIABLES),
        f'__cudaRegisterManagedVar(handle, (void **)&{_MANAGED}, 0, "{_MANAGED}", 0, 4, 0, 0);',
        "__cudaRegisterFatBinaryEnd(handle);",
        "}",
        "__attribute__((destructor)) static void leave() { __cudaUnregisterFatBinary(handle); }",
    ]
    return "\n".join([*lines, ""])
