"""The process of single launches on the fake device: `python -m tests.execution.workers.fake_direct_child …`."""

from __future__ import annotations

import os
import sys

from gpuregress.execution.workers import direct_child
from tests.fakes import open_device

if __name__ == "__main__":
    os._exit(direct_child.main(sys.argv[1:], open_device))
