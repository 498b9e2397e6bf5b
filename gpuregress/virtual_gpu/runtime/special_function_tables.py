"""Lookup tables of the special-function unit, unpacked once into the cache and mapped into memory.

The package holds them packed (`table_packing.py`, 1.6 MB); in memory one is up to 32 MiB. An unpacked or cached table
must have its digest, so that neither damaged data nor a file that a power cut left half empty is ever used. The file is
written atomically, but not flushed.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import xxhash

from gpuregress.gpu.errors import DeviceError
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.runtime.table_packing import DATA, SUFFIX, Table, unpack

# The xxh3-64 of each table's bytes, taken when their sha256 was that of the measurement (tests: test_tables.py).
DIGESTS = {
    "ex2": "d1e1b9628cb28cac",
    "rcp_0": "77562bebd4c1d704",
    "rsqrt_0": "5b4c7535354f3719",
    "rsqrt_1": "54227603034b815a",
    "sqrt_0": "1ea90a7e5c783268",
    "sqrt_1": "f99335092cbc8efa",
    "lg2_e0": "ba390e724780d7e1",
    "lg2_e-1": "eb62fe9af8331dee",
    "sin_q1": "ae2c788440cf090e",
    "cos_q1": "801fc73d415d9117",
    "tanh": "f8d6653f20a6e950",
    "rcp64h": "91bd0aaea63301b8",
    "rsqrt64h_0": "0da833f70eb92159",
    "rsqrt64h_1": "ae37ca3f11a782bc",
}


@functools.cache
def table(name: str, cache: Cache | None = None) -> Table:
    """A table's float bits; read-only.

    Without a cache the table is unpacked for this process alone: that costs time, not results.

    Args:
        name: a key of `DIGESTS`.
        cache: where unpacked tables are kept.

    Returns:
        uint32 of shape (2^23,), or less for `tanh` and the `64h` tables: the bits of f32 numbers.

    Raises:
        DeviceError: the package's data are damaged.
    """
    if cache is None:
        return _unpacked(name)
    file_name = f"{name}.{DIGESTS[name]}.u32"
    mapped = _mapped(cache.table_path(file_name), name)
    if mapped is not None:
        return mapped
    entries = _unpacked(name)
    cache.keep_table(file_name, entries.data.cast("B"))
    return entries


def _mapped(path: Path, name: str) -> Table | None:
    """The file as an array, or None where there is none with the table's content."""
    try:
        entries = np.memmap(path, dtype="<u4", mode="r")
    except (OSError, ValueError):  # there is none, or nothing is in it
        return None
    return entries if _digest(entries) == DIGESTS[name] else None


def _unpacked(name: str) -> Table:
    path = (DATA / name).with_suffix(SUFFIX)
    try:
        entries = unpack(path.read_bytes())
    except (OSError, ValueError) as error:
        message = f"the cpu device's table {path.name} cannot be read ({error}): install gpuregress again"
        raise DeviceError(message) from error
    if _digest(entries) != DIGESTS[name]:
        raise DeviceError(f"the cpu device's table {path.name} is damaged: install gpuregress again")
    entries.flags.writeable = False
    return entries


def _digest(entries: Table) -> str:
    return xxhash.xxh3_64_hexdigest(entries.data)
