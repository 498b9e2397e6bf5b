from __future__ import annotations

import subprocess
import sys

from gpuregress.execution.workers import start


def test_the_worker_is_the_one_of_the_module_and_says_what_is_missing() -> None:
    """The entry point of a worker starts the driver first; what fails there is reported by the device."""
    code = (
        "import socket, subprocess, sys\n"
        "ours, theirs = socket.socketpair()\n"
        "command = [sys.executable, '-P', '-m', sys.argv[1], '--channel', str(theirs.fileno()), 'cuda:99']\n"
        "child = subprocess.Popen(command, pass_fds=(theirs.fileno(),))\n"
        "theirs.close()\n"
        "print(ours.makefile().read())\n"
        "sys.exit(child.wait())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, start.__name__], check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert '"say":"refused"' in done.stdout
    assert "cuda" in done.stdout
    assert done.stderr == ""
