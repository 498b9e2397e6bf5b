"""The libraries that stand for NVIDIA's, built by the host's compiler once and kept in the cache."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
from pathlib import Path

from gpuregress.programs.environment import NOTES, SHARED_BYTES
from gpuregress.toolchain import host_compiler
from gpuregress.virtual_gpu.runtime import machine_layout

_FOLDER = Path(__file__).parent
COMPILERS = ("libnvJitLink.so.13", "libnvrtc.so.13")
_NVCC = """#!/bin/sh
# Caches of compiled code keep what this makes apart: the version tells of it.
if [ "$*" = --version ]; then REAL --version; echo "gpuregress exec: PTX in place of a cubin"; exit; fi
cubin= output= source=
for word; do
    case $word in
        -cubin | --cubin) cubin=yes ;;
        -o | --output-file) output=yes ;;
        *.cu) source=$word ;;
    esac
done
if [ -z "$cubin" ]; then exec REAL "$@"; fi
for word; do
    shift
    case $word in -cubin | --cubin) word=--ptx ;; esac
    set -- "$@" "$word"
done
if [ -z "$output" ]; then set -- "$@" -o "$(basename "$source" .cu).cubin"; fi
exec REAL "$@"
"""
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
    own_driver = driver()
    for name in ("libcuda.so.1", "libcuda.so"):  # The second one is of the driver's developers, and opened by some.
        (folder / name).symlink_to(own_driver)
    for name in COMPILERS:
        (folder / name).symlink_to(_compiler(name))
    (folder / "libcudart.so.13").symlink_to(runtime(own_driver))
    return folder


def compiler_folders(command: str) -> list[Path]:
    """List the folders where NVIDIA's own compilers may be: of the program's environment, then of this one.

    Args:
        command: the program; beside a Python interpreter are its packages.
    """
    interpreter = shutil.which(command)
    roots = [Path(interpreter).parent.parent] if interpreter else []
    roots += [Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    folders = [found for root in roots for found in root.glob("lib/python3*/site-packages/nvidia/cu13/lib")]
    folders += [Path(os.environ[name], "lib64") for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folders.append(Path(place, "cu13", "lib"))
    return list(dict.fromkeys(folders))


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


def runtime(own_driver: Path | None = None) -> Path:
    """Return the runtime library, built if the cache does not have it.

    Args:
        own_driver: the driver library; None: it is found first.
    """
    # NVIDIA's has a version for its symbols, named like itself; programs ask for it.
    options = ("-fvisibility=default", "-Wl,-soname,libcudart.so.13", "-Wl,--default-symver")
    libraries = (str(own_driver or driver()), "-lpthread")
    return host_compiler.shared_library("runtime library", _FOLDER / "runtime", options, libraries)


def _compiler(name: str) -> Path:
    """A stand-in for a compiler of NVIDIA's, which gives PTX in place of machine code."""
    options = (f"-Wl,-soname,{name}",)
    return host_compiler.shared_library("compilers' library", _FOLDER / "compilers", options, ("-ldl",))


def write_nvcc(folder: Path) -> Path:
    """Write an `nvcc` that makes PTX where a program asks for a cubin, as pycuda's `SourceModule` does.

    It goes before the real one on the path; without a real one it is not written.

    Args:
        folder: made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    real = shutil.which("nvcc")
    if real is None:
        return folder
    script = folder / "nvcc"
    script.write_text(_NVCC.replace("REAL", shlex.quote(real)), encoding="utf-8")
    script.chmod(0o755)
    for name in ("include", "lib64", "nvvm", "targets"):  # The toolkit is looked for around its compiler.
        part = Path(real).resolve().parent.parent / name
        if part.exists():
            (folder.parent / name).symlink_to(part)
    return folder
