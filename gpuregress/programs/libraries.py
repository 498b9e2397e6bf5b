"""The libraries that stand for NVIDIA's, built by the host's compiler once and kept in the cache."""

from __future__ import annotations

from pathlib import Path

from gpuregress.programs.shared_space import NOTES, SHARED_BYTES
from gpuregress.toolchain import host_compiler
from gpuregress.virtual_gpu.runtime import machine_layout

_FOLDER = Path(__file__).parent
CUDA_VERSION = 13000
"""Of the driver API; a newer program asks for functions by the version in which they came, and is told of the lack."""


def link_all(folder: Path) -> Path:
    """Fill a folder for LD_LIBRARY_PATH with links to the libraries, each by the name that programs ask for.

    Args:
        folder: made if it is not there.

    Raises:
        HarnessError: there is no C compiler, or it fails.
        StorageError: the cache cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, library in {"libcuda.so.1": driver(), "libcudart.so.13": runtime()}.items():
        (folder / name).symlink_to(library)
    return folder


def driver() -> Path:
    """Return the driver library, built if the cache does not have it."""
    layout = {
        "SHARED_BYTES": f"{SHARED_BYTES}ull",
        "NOTES": NOTES,
        "REGION_SHIFT": machine_layout.REGION_SHIFT,
        "SLOT_BITS": machine_layout.SLOT_BITS,
        "GATHER": machine_layout.GATHER,
        "MIDDLE": f"{machine_layout.MIDDLE}ull",
        "REGIONS": machine_layout.MAX_REGIONS,
        "CUDA_VERSION": CUDA_VERSION,
    }
    options = ["-Wl,-soname,libcuda.so.1", *(f"-D{name}={value}" for name, value in layout.items())]
    return host_compiler.shared_library("driver library", _FOLDER / "driver", options, ("-ldl", "-lpthread"))


def runtime() -> Path:
    """Return the runtime library, built if the cache does not have it."""
    # NVIDIA's has a version for its symbols, named like itself; programs ask for it.
    options = ("-fvisibility=default", "-Wl,-soname,libcudart.so.13", "-Wl,--default-symver")
    return host_compiler.shared_library("runtime library", _FOLDER / "runtime", options, (str(driver()), "-lpthread"))
