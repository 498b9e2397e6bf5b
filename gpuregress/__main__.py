"""Entry point of the process: `gpuregress`, and `python -m gpuregress`."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

from gpuregress.execution.workers import worker_spawn
from gpuregress.foundation import call_stack

INTERRUPTED = 130  # as `errors.Interrupted`; ^C may come before any other module is loaded


def run() -> NoReturn:
    """Run the command line and end the process at once; Python's own shutdown costs a tenth of a run."""
    code = 0
    try:
        _take_signals()
        _open_closed_streams()
        gc.set_threshold(worker_spawn.COLLECT_EVERY)
        from gpuregress.cli import main  # noqa: PLC0415 - ^C while it loads is no traceback either

        call_stack.call_with_room(lambda: main(prog_name="gpuregress"))
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except KeyboardInterrupt:
        code = INTERRUPTED
        with contextlib.suppress(OSError, AttributeError):
            sys.stderr.write("gpuregress: interrupted\n")
    atexit._run_exitfuncs()  # noqa: SLF001 - a coverage tool's data, a temporary folder: what Python itself would call
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or its reader has left
            stream.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Open /dev/null for streams that the caller closed (`>&-`, cron): else a worker's channel would be our stdout."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        os.set_inheritable(descriptor, True)
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def _take_signals() -> None:
    """Let SIGTERM and SIGHUP end every command as ^C does: temporary files are removed, the exit code is 130.

    A run has handlers of its own while it goes on (`interrupts`).
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGHUP):  # no second one while the first is cleared away
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _leave_out_the_users_folder() -> None:
    """Remove the current folder from the module path: a random.py or click.py there must not shadow the real one."""
    ours = os.path.realpath(__file__).removesuffix("/gpuregress/__main__.py")
    with contextlib.suppress(OSError):  # the current folder is gone
        if not sys.flags.safe_path and os.path.realpath(sys.path[0]) != ours:
            del sys.path[0]


if __name__ == "__main__":
    _leave_out_the_users_folder()
    run()
