"""Environment variables by which `gpuregress exec` speaks to the driver and the server."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import Record
from gpuregress.toolchain.cache import STAND_INS

_FOLDER, _LOG, _CHECKS, _SCHEDULE, _OWNER, _CASE, _FIRST, _DUMPS, _DUMP, _SIZES = (
    f"GPUREGRESS_EXEC_{name}"
    for name in ("FOLDER", "LOG", "CHECKS", "SCHEDULE", "OWNER", "CASE", "FIRST", "DUMPS", "DUMP", "SIZES")
)
_LIBRARIES = "LD_LIBRARY_PATH"


class Settings(Record):
    """What a server process is told.

    Attributes:
        folder: for its report and its modules, removed with the run.
        log: the launch log.
        checks: names of dynamic checks.
        schedule: of threads and blocks; "": the usual one.
        owner: id of the process of `gpuregress exec`, without which nothing is left to report to.
        case: of the job that runs the program, as the log has it; "": each process has a name of its own.
        first_launch: the number of the case's first launch in the log.
        dumps: when buffers are written, `exit` or `synchronize`; "": never.
        dump: names and patterns of the buffers that are written.
        sizes: name or pattern of a buffer → bytes of its elements, which messages count; 1 without one.
    """

    folder: str
    log: str
    checks: tuple[str, ...] = ()
    schedule: str = ""
    owner: int = 0
    case: str = ""
    first_launch: int = 1
    dumps: str = ""
    dump: tuple[str, ...] = ("*",)
    sizes: Mapping[str, int] = field(default_factory=dict)


def of_program(
    settings: Settings, libraries: Path, tools: Path, compilers: Sequence[Path], base: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment of a program that runs on the virtual GPU.

    Args:
        settings: for its servers.
        libraries: the folder of the libraries that stand for NVIDIA's.
        tools: the folder of the programs that do.
        compilers: the folders of NVIDIA's own compilers.
        base: the variables that these are added to.

    Raises:
        UsageError: the loader would not find the libraries.
    """
    if set(":;$") & set(str(libraries)):  # ld.so(8): LD_LIBRARY_PATH has no way to quote them.
        raise UsageError(
            f"the folder for temporary files, {libraries.parent}, has a ':', ';' or '$' in its name, so that the "
            "program's loader would not find the virtual GPU's libraries: set TMPDIR to another folder"
        )
    folders = [str(libraries), *filter(None, [base.get(_LIBRARIES)])]
    return {
        **base,
        _LIBRARIES: os.pathsep.join(folders),
        "PATH": os.pathsep.join([str(tools), base.get("PATH", os.defpath)]),
        _FOLDER: settings.folder,
        _LOG: settings.log,
        _CHECKS: ",".join(settings.checks),
        _SCHEDULE: settings.schedule,
        _OWNER: str(settings.owner),
        _CASE: settings.case,
        _FIRST: str(settings.first_launch),
        _DUMPS: settings.dumps,
        _DUMP: ",".join(settings.dump),
        _SIZES: ",".join(f"{name}={size}" for name, size in settings.sizes.items()),
        "GPUREGRESS_EXEC_COMPILERS": os.pathsep.join(map(str, compilers)),
        STAND_INS: str(libraries),
        "GPUREGRESS_EXEC_PYTHON": sys.executable,
        "GPUREGRESS_EXEC_PATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path),
        # Numba looks for the driver by this name before it asks the loader.
        "NUMBA_CUDA_DRIVER": str(libraries / "libcuda.so.1"),
    }


def read() -> Settings:
    """Read the settings of a server process.

    Raises:
        UsageError: they are not there.
    """
    if not os.environ.get(_FOLDER):
        raise UsageError("the server of the virtual GPU is started by `gpuregress exec -- PROGRAM`")
    checks = os.environ.get(_CHECKS, "")
    sizes = filter(None, os.environ.get(_SIZES, "").split(","))
    return Settings(
        folder=os.environ[_FOLDER],
        log=os.environ[_LOG],
        checks=tuple(filter(None, checks.split(","))),
        schedule=os.environ.get(_SCHEDULE, ""),
        owner=int(os.environ.get(_OWNER, "0")),
        case=os.environ.get(_CASE, ""),
        first_launch=int(os.environ.get(_FIRST, "1")),
        dumps=os.environ.get(_DUMPS, ""),
        dump=tuple(filter(None, os.environ.get(_DUMP, "*").split(","))),
        sizes={name: int(size) for name, size in (entry.split("=") for entry in sizes)},
    )
