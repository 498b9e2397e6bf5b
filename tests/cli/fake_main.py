"""`python -m tests.cli.fake_main …`: gpuregress on the fake device, for tests that need a process of its own."""

from __future__ import annotations

import functools
import sys

from gpuregress.cli import main
from gpuregress.pipeline import steps

if __name__ == "__main__":
    command = (sys.executable, "-m", "tests.fake_worker")
    steps.Machinery = functools.partial(steps.Machinery, command=command)  # type: ignore[misc,assignment]
    main(prog_name="gpuregress")
