"""Execution of one case on one device: fill, log, launch, read, dump. Compares nothing."""

from gpuregress.execution.runner.execution import run_case as run_case
