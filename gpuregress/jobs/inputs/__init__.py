"""Contents of buffers before the first launch.

A fill is a pure function of seed, name, shape and dtype, the same on every machine and numpy version: random ones draw
raw 64-bit words from Philox4x64-10, whose stream numpy promises to keep, and turn them into numbers by the exact steps
in `inputs.streams`. A vector's or record's parts are the last axis: all parts of an element, then the next element.
"""

from __future__ import annotations

import hashlib

from gpuregress.jobs.inputs.files import array_dtype, dump_header, split_member
from gpuregress.jobs.inputs.fill_check import fill_problem
from gpuregress.jobs.inputs.fills import fill, same

__all__ = ["array_dtype", "dump_header", "fill", "fill_problem", "same", "seed_for", "split_member"]


def seed_for(job_seed: int, buffer_name: str) -> int:
    """The seed of a buffer's fill: the first 8 bytes, little-endian, of SHA-256 of `SEED:NAME`."""
    return int.from_bytes(hashlib.sha256(f"{job_seed}:{buffer_name}".encode()).digest()[:8], "little")
