from __future__ import annotations

import subprocess
import sys


def test_a_worker_of_a_gpu_that_is_not_there_says_what_is_missing() -> None:
    code = (
        "import socket, subprocess, sys\nfrom gpuregress.execution.workers import worker_spawn\n"
        "ours, theirs = socket.socketpair()\n"
        "command = [*worker_spawn.COMMAND, '--channel', str(theirs.fileno()), 'cuda:99']\n"
        "child = subprocess.Popen(command, pass_fds=(theirs.fileno(),))\n"
        "theirs.close()\n"
        "print(ours.makefile().read())\n"
        "sys.exit(child.wait())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert '"say":"refused"' in done.stdout
    assert "cuda" in done.stdout
    assert done.stderr == ""
