"""Benchmarks of gpuregress as ratios against its peers: `python -m benchmarks`."""

import os

# A package that pip installs has its byte code: every start would compile hundreds of modules without it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
