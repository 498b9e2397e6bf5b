"""A worker on the fake device: `python -m tests.fake_worker --channel FD DEVICE`."""

from __future__ import annotations

from gpuregress.execution.workers import child
from tests.fakes import open_device

if __name__ == "__main__":
    child.serve_and_leave(open_device)
