"""The special-function unit's tables: unpacked once into the cache folder, then mapped into memory.

The package holds them as xz of first differences (1.5 MB); in memory one is up to 32 MiB. What is unpacked must have
the checksum that was taken on the card. A kept file has that checksum in its name and the right size: it was written
whole, and to the disk, or not at all.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import lzma
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress import storage
from gpuregress.errors import DeviceError, StorageError
from gpuregress.toolchain import cache

_DATA = Path(__file__).parent.parent / "data" / "sm_90"

# The first 16 hex digits of each unpacked table's sha256.
CHECKSUMS = {
    "ex2": "b2a42c4a626469c9",
    "rcp_0": "c408381446132e07",
    "rsqrt_0": "c733e1437c713cd7",
    "rsqrt_1": "fd7b866f4085a9e8",
    "sqrt_0": "dc6925bfdd56d604",
    "sqrt_1": "ffc55416e1586610",
    "lg2_e0": "7fd9be9a924e40a0",
    "lg2_e-1": "883e42d8f7519830",
    "sin_q1": "57676af4861bf1ab",
    "cos_q1": "793d57f4007fe2e5",
    "tanh": "9d505a441e95426d",
    "rcp64h": "4b54abfb3f30c97d",
    "rsqrt64h_0": "9b219c775315e593",
    "rsqrt64h_1": "9fa81af9ff044727",
}
_ENTRIES = dict.fromkeys(CHECKSUMS, 1 << 23) | {
    "tanh": 6_684_672,
    "rcp64h": 1 << 20,
    "rsqrt64h_0": 1 << 20,
    "rsqrt64h_1": 1 << 20,
}

Table = npt.NDArray[np.uint32]


@functools.cache
def table(name: str) -> Table:
    """A table's float bits, as `data/sm_90/NAME.xz` holds their differences; read-only.

    Where the cache folder cannot be written the table is unpacked for this process alone: that costs time, not results.

    Args:
        name: a key of `CHECKSUMS`.

    Returns:
        uint32 of shape (2^23,), or less for `tanh` and the `64h` tables: the bits of f32 numbers.

    Raises:
        DeviceError: the package's data are damaged.
    """
    path = cache.folder() / "tables" / f"{name}.{CHECKSUMS[name]}.u32"
    mapped = _mapped(path, name)
    if mapped is not None:
        return mapped
    entries = _unpacked(name)
    with contextlib.suppress(StorageError):
        storage.write_atomic(path, entries.tobytes())
    return entries


def _mapped(path: Path, name: str) -> Table | None:
    """The file as an array, or None where there is none of the right size."""
    try:
        if path.stat().st_size != 4 * _ENTRIES[name]:
            return None
        return np.memmap(path, dtype="<u4", mode="r")
    except OSError:
        return None


def _unpacked(name: str) -> Table:
    path = _DATA / f"{name}.xz"
    try:
        differences = np.frombuffer(lzma.decompress(path.read_bytes()), "<i4")
    except (OSError, lzma.LZMAError, ValueError) as error:
        message = f"the cpu device's table {path.name} cannot be read ({error}): install gpuregress again"
        raise DeviceError(message) from error
    entries = np.cumsum(differences, dtype=np.int32).view(np.uint32)
    if hashlib.sha256(entries.tobytes()).hexdigest()[:16] != CHECKSUMS[name]:
        raise DeviceError(f"the cpu device's table {path.name} is damaged: install gpuregress again")
    entries.flags.writeable = False
    return entries
