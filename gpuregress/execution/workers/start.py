"""Entry point of a worker process: a GPU's driver starts before the libraries of a case load.

python -P -m gpuregress.execution.workers.start --channel FD DEVICE [--after-fault]
"""

from __future__ import annotations

import gc
import sys

from gpuregress.execution.cuda.context_start import ContextStart
from gpuregress.execution.workers import worker_spawn
from gpuregress.foundation import call_stack


def main() -> None:
    """Start the driver where the device is a GPU, then serve the parent."""
    gc.set_threshold(worker_spawn.COLLECT_EVERY)
    driver_start = None
    for word in sys.argv[1:]:
        kind, _, number = word.partition(":")
        if kind == "cuda" and number.isdecimal():
            driver_start = ContextStart(int(number))
    from gpuregress.execution.workers import child  # noqa: PLC0415 - 0.2 s, while the driver starts

    call_stack.call_with_room(lambda: child.serve_and_leave(driver_start=driver_start))


if __name__ == "__main__":
    main()
