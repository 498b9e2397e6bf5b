"""`python -m tests.fake_main …`: gpuregress on the fake device, for tests that need a process of its own."""

from __future__ import annotations

import sys
from unittest import mock

from gpuregress.__main__ import run
from gpuregress.session.run_request import Machinery

if __name__ == "__main__":
    command = (sys.executable, "-m", "tests.fake_worker")
    with (
        mock.patch("gpuregress.session.session.MACHINERY", Machinery(command)),
        mock.patch("gpuregress.execution.workers.worker_spawn.begin"),
    ):
        run()
