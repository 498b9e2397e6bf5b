"""Environment variables and sizes that `gpuregress exec`, the driver library and the server share."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gpuregress.foundation.applications import LaunchChoice
from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import Record
from gpuregress.toolchain.cache import STAND_INS

_FOLDER, _LOG, _CHECKS, _SCHEDULE, _OWNER = (
    f"GPUREGRESS_EXEC_{name}" for name in ("FOLDER", "LOG", "CHECKS", "SCHEDULE", "OWNER")
)
_CAPTURE = "GPUREGRESS_EXEC_CAPTURE"
SHARED_BYTES = 1 << 40
"""Addresses of the file that holds the device's memory; pages take memory once they are touched."""
NOTES = 4096
"""Stretches of memory that the program may note as written between two launches."""
_LIBRARIES = "LD_LIBRARY_PATH"


class CaptureSettings(Record):
    """The launches that are kept for jobs, and the folder for their records."""

    choice: LaunchChoice
    folder: str


class Settings(Record):
    """What a server process is told.

    Attributes:
        folder: for its report and its modules, removed with the run.
        log: the launch log.
        checks: names of dynamic checks.
        schedule: of threads and blocks; "": the usual one.
        owner: id of the process of `gpuregress exec`, without which nothing is left to report to.
        capture: of the launches that are kept for jobs; None: none is.
    """

    folder: str
    log: str
    checks: tuple[str, ...] = ()
    schedule: str = ""
    owner: int = 0
    capture: CaptureSettings | None = None


def of_program(settings: Settings, libraries: Path, tools: Path, compilers: Sequence[Path]) -> dict[str, str]:
    """Return the environment of a program that runs on the virtual GPU.

    Args:
        settings: for its servers.
        libraries: the folder of the libraries that stand for NVIDIA's.
        tools: the folder of the programs that do.
        compilers: the folders of NVIDIA's own compilers.

    Raises:
        UsageError: the loader would not find the libraries.
    """
    if set(":;$") & set(str(libraries)):  # ld.so(8): LD_LIBRARY_PATH has no way to quote them.
        raise UsageError(
            f"the folder for temporary files, {libraries.parent}, has a ':', ';' or '$' in its name, so that the "
            "program's loader would not find the virtual GPU's libraries: set TMPDIR to another folder"
        )
    folders = [str(libraries), *filter(None, [os.environ.get(_LIBRARIES)])]
    return {
        **os.environ,
        _LIBRARIES: os.pathsep.join(folders),
        "PATH": os.pathsep.join([str(tools), os.environ.get("PATH", os.defpath)]),
        _FOLDER: settings.folder,
        _LOG: settings.log,
        _CHECKS: ",".join(settings.checks),
        _SCHEDULE: settings.schedule,
        _OWNER: str(settings.owner),
        _CAPTURE: msgspec.json.encode(settings.capture).decode(),
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
    return Settings(
        folder=os.environ[_FOLDER],
        log=os.environ[_LOG],
        checks=tuple(filter(None, checks.split(","))),
        schedule=os.environ.get(_SCHEDULE, ""),
        owner=int(os.environ.get(_OWNER, "0")),
        capture=msgspec.json.decode(os.environ.get(_CAPTURE, "null"), type=CaptureSettings | None),
    )
