"""A worker on the fake device: `python -m tests.fake_worker --channel FD DEVICE`."""

from __future__ import annotations

import sys

from gpuregress.workers import child
from tests.fakes import open_device

if __name__ == "__main__":
    raise SystemExit(child.main(sys.argv[1:], open_device))
