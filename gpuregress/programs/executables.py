"""Programs that cannot run here, recognised by their file before they start."""

from __future__ import annotations

import mmap
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

from gpuregress.toolchain import fatbins

_DYNAMIC, _NEEDED = 6, 1
BUILD_SHARED = (
    'build it with NVCC_APPEND_FLAGS="-cudart shared -gencode arch=compute_90,code=compute_90", '
    "or with CMake's CUDA_RUNTIME_LIBRARY=Shared and CUDA_ARCHITECTURES=90-virtual"
)


def problem(command: str) -> str:
    """Say why a program cannot run on the virtual GPU, "" where nothing is known against it.

    Args:
        command: the program as a shell finds it.
    """
    found = shutil.which(command)
    if found is None:
        return ""
    try:
        with Path(found).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if not fatbins.sections(data) or any(name.startswith("libcudart.so") for name in _needed(data)):
                return ""
    except (OSError, ValueError):
        return ""  # a script, or no file of this kind
    runtime = "NVIDIA's CUDA runtime (libcudart_static), which runs on NVIDIA's driver alone"
    return f"{command} carries {runtime}: {BUILD_SHARED}"


def _needed(data: mmap.mmap) -> Iterator[str]:
    """The shared libraries that an ELF file names."""
    try:
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        rows = [struct.unpack_from("<IIQQQQI", data, table + number * size) for number in range(count)]
        for row in rows:
            if row[1] != _DYNAMIC:
                continue
            names = rows[row[6]][4]
            for entry in range(row[4], row[4] + row[5], 16):
                tag, value = struct.unpack_from("<qQ", data, entry)
                if tag == _NEEDED:
                    end = data.find(b"\0", names + value)
                    yield data[names + value : end].decode("utf-8", "replace")
    except (struct.error, IndexError) as error:
        raise ValueError("it is cut short") from error
