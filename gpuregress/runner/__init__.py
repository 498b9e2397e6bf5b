"""One case on one device: fill, log, launch, read, dump. Compares nothing."""

from gpuregress.runner.execution import count_launches, run_case

__all__ = ["count_launches", "run_case"]
