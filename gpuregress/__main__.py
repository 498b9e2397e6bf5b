"""The process: `gpuregress`, and `python -m gpuregress`."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import NoReturn

INTERRUPTED = 130


def run() -> NoReturn:
    """Runs the command line and ends the process at once: taking Python apart costs a run a tenth of its time."""
    code = 0
    try:
        from gpuregress.cli import main  # noqa: PLC0415 - ^C while it loads is no traceback either

        main(prog_name="gpuregress")
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


def _leave_out_the_users_folder() -> None:
    """`python -m` puts the current folder first: a random.py or click.py there must not stand in for the real one."""
    ours = os.path.realpath(__file__).removesuffix("/gpuregress/__main__.py")
    with contextlib.suppress(OSError):  # the current folder is gone
        if not sys.flags.safe_path and os.path.realpath(sys.path[0]) != ours:
            del sys.path[0]


if __name__ == "__main__":
    _leave_out_the_users_folder()
    run()
