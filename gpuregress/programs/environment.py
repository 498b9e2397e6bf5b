"""Environment variables and sizes that `gpuregress exec`, the driver library and the server share."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gpuregress.foundation.applications import LaunchChoice
from gpuregress.foundation.errors import UsageError
from gpuregress.gpu import schedules
from gpuregress.gpu.records import Record
from gpuregress.toolchain.cache import STAND_INS

_SETTINGS = "GPUREGRESS_EXEC_SETTINGS"
"""All settings, as JSON, for the server."""
_FOLDER, _CHECKS, _DUMPS, _STREAM_ORDER = (
    f"GPUREGRESS_EXEC_{name}" for name in ("FOLDER", "CHECKS", "DUMPS", "STREAM_ORDER")
)
"""Those that the driver library reads, too."""
SHARED_BYTES = 1 << 40
"""Addresses of the file that holds the device's memory; pages take memory once they are touched."""
NOTES = 4096
"""Stretches of memory that the program may note as written between two launches."""
_LIBRARIES = "LD_LIBRARY_PATH"


class ProgramCase(Record):
    """What a case of a job adds to the run of a program.

    Attributes:
        name: of the case, for the log.
        first_launch: the number of its first launch in the log, which exists.
        dumps: when buffers are written, `exit` or `synchronize`.
        dump: names and patterns of the buffers that are written.
        sizes: name or pattern of a buffer → bytes of its elements, which messages count; 1 without one.
        folder: in which the program runs.
        environment: variables beside those of this process.
    """

    name: str
    first_launch: int
    dumps: Literal["exit", "synchronize"]
    dump: tuple[str, ...]
    sizes: Mapping[str, int]
    folder: str
    environment: Mapping[str, str]


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
        case: of a job that runs the program; None: nothing is kept of its buffers.
        capture: of the launches that are kept for jobs; None: none is.
    """

    folder: str
    log: str
    checks: tuple[str, ...] = ()
    schedule: str = ""
    owner: int = 0
    case: ProgramCase | None = None
    capture: CaptureSettings | None = None


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
        _SETTINGS: msgspec.json.encode(settings).decode(),
        _FOLDER: settings.folder,
        _CHECKS: ",".join(settings.checks),
        _STREAM_ORDER: _stream_order(settings.schedule),
        _DUMPS: settings.case.dumps if settings.case is not None else "",
        "GPUREGRESS_EXEC_COMPILERS": os.pathsep.join(map(str, compilers)),
        STAND_INS: str(libraries),
        "GPUREGRESS_EXEC_PYTHON": sys.executable,
        "GPUREGRESS_EXEC_PATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path),
        # Numba looks for the driver by this name before it asks the loader.
        "NUMBA_CUDA_DRIVER": str(libraries / "libcuda.so.1"),
    }


def _stream_order(schedule: str) -> str:
    """The order of work of streams that nothing orders: a seed, `last` for the one called last, "" as it is called."""
    if schedule in (schedules.REVERSE, schedules.ADVERSARIAL):
        return "last"
    return schedule.removeprefix(schedules.SHUFFLED) if schedule.startswith(schedules.SHUFFLED) else ""


def mark(folder: str) -> str:
    """The variable, with its value, that all processes of a run have which have not cleared their environment.

    Args:
        folder: of the run.
    """
    return f"{_FOLDER}={folder}"


def read() -> Settings:
    """Read the settings of a server process.

    Raises:
        UsageError: they are not there.
    """
    if not os.environ.get(_SETTINGS):
        raise UsageError("the server of the virtual GPU is started by `gpuregress exec -- PROGRAM`")
    return msgspec.json.decode(os.environ[_SETTINGS], type=Settings)
