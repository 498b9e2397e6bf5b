"""Errors as exit codes: one line for what a user can cause, a crash log for our own bugs."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from gpuregress import __version__
from gpuregress.cli import console
from gpuregress.foundation.errors import (
    ExitCode,
    GpuregressError,
    HarnessError,
    Interrupted,
    JobError,
    JobErrors,
    ran_out,
)
from gpuregress.gpu.records import replace

BROKEN_PIPE = 141


class ReaderLeft(Exception):
    """The reader of stdout (head, less) is gone; no OSError, which click would turn into exit code 1."""


def guard(command: Callable[[], Any]) -> int:
    """Run a command; return its exit code, or that of its error.

    Args:
        command: returns an exit code, or None for 0.
    """
    try:
        code = command()
        sys.stdout.flush()
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            _show(error)
        return ExitCode.WRONG_REQUEST
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", Interrupted.exit_code)
    except JobErrors as error:
        with contextlib.suppress(OSError):
            say_job_errors(error.errors)
        return error.exit_code
    except GpuregressError as error:
        return _say(str(error), error.exit_code)
    except SystemExit as error:
        return _code(error.code)
    except (ReaderLeft, BrokenPipeError):
        silence_stdout()
        return BROKEN_PIPE
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _say(f"{error.strerror or error}{where}", GpuregressError.exit_code)
    except BaseException as error:  # noqa: BLE001 - a bug of ours, or a panic of a library: its traceback goes to a file
        if lacking := ran_out(error):
            return _say(f"this machine, or a limit (`ulimit -a`), has not enough {lacking}", HarnessError.exit_code)
        return _say(_report_bug(error), HarnessError.exit_code)
    return _code(code)


def silence_stdout() -> None:
    """Discard what is written to stdout from now on, and when Python flushes at exit: its reader has left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _code(code: object) -> int:
    return code if isinstance(code, int) else 0


def say_job_errors(errors: Iterable[JobError]) -> None:
    """Print errors of jobs, each with its file relative to the current folder."""
    here = Path.cwd()
    for error in errors:
        shown = error
        if error.path.is_relative_to(here):
            shown = replace(error, path=error.path.relative_to(here))
        console.say(f"gpuregress: {shown}", err=True)


def _say(message: str, code: int) -> int:
    with contextlib.suppress(OSError):  # stderr is full, or its reader has left: the exit code must say it
        console.say(f"gpuregress: {message}", err=True)
    return code


def _show(error: click.ClickException) -> None:
    """Print click's message, with the usage of the command."""
    text = io.StringIO()
    error.show(text)
    message = f"Error: {error.format_message()}"
    console.say_document(text.getvalue().rpartition(message)[0], err=True)
    console.say(message, err=True)


def _report_bug(error: BaseException) -> str:
    """Write the crash log; return the line that names it."""
    text = _crash_text(error)
    name = f"crash-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.log"
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    for folder in _crash_folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        except OSError:
            continue
        return f"an error inside gpuregress ({summary}); please report it with {folder / name}"
    return f"an error inside gpuregress, and no folder for its log:\n{text}"


def _crash_folders() -> tuple[Path, ...]:
    from gpuregress.toolchain import cache  # noqa: PLC0415 - 0.1 s, for a crash alone

    return (cache.folder() / "crashes", Path(tempfile.gettempdir()))


def _crash_text(error: BaseException) -> str:
    from gpuregress.foundation import usermodules  # noqa: PLC0415 - for a crash alone

    packages = ("click", "cuda-bindings", "llvmlite", "numpy", "nvidia-cuda-nvrtc", "orjson", "msgspec", "pycuda")
    versions = [f"{package} {usermodules.installed_version(package) or 'not installed'}" for package in packages]
    lines = (
        f"gpuregress {__version__}, Python {platform.python_version()}, {platform.platform()}",
        ", ".join(versions),
        f"command: {' '.join(sys.argv)}",
        "",
        "".join(traceback.format_exception(error)),
    )
    return "\n".join(lines)
