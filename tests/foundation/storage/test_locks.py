from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import RunLocked

HOLDER = """
import sys, time, pathlib
from gpuregress.foundation import storage
with storage.lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_says_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "lock"
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        with (
            pytest.raises(RunLocked, match=rf"lock is locked by process {process.pid} on .* since .*; wait"),
            storage.lock(path),
        ):
            pass
    finally:
        process.kill()
        process.communicate()
    with storage.lock(path):  # the system freed the lock of the killed
        assert str(os.getpid()) in (tmp_path / "runs" / "lock.holder").read_text()
    assert not (tmp_path / "runs" / "lock.holder").exists()


def test_a_lock_can_be_taken_again_after_an_error(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError), storage.lock(tmp_path / "lock"):
            raise RuntimeError
