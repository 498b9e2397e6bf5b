"""Lookup tables of the special-function unit, unpacked once into the cache and mapped into memory.

The package holds them packed (`table_packing.py`, 1.6 MB); in memory one is up to 32 MiB. An unpacked or cached table
must have its digest, so that neither damaged data nor a file that a power cut left half empty is ever used. The file is
written atomically, but not flushed: to compute its digest takes 2 ms, to flush it 50.
"""

from __future__ import annotations

import functools
import lzma
import sys
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import xxhash

from gpuregress.gpu.architectures import ARCHITECTURES
from gpuregress.gpu.errors import DeviceError
from gpuregress.virtual_gpu.cache import Cache

# --- table packing ----------------------------------------------------------------------------------------------------
# Compression of the special-function tables that the package contains.
#
# Neighbouring entries differ by little, and the same few runs of differences come again and again. A packed table is
# one zlib stream: the number of distinct runs (u32), what each run adds up to at each of its 16 entries (i32), then for
# each 16 entries which run they are (u16). All little-endian.
#
#     python -m gpuregress.virtual_gpu.runtime.special_function_tables tests/virtual_gpu/measured/sm_90
#
# packs the tables as they were measured (xz of first differences) into the package.

DATA = Path(__file__).parent.parent / "data" / ARCHITECTURES[0].measured
SUFFIX = ".runs"
_RUN = 16

Table = npt.NDArray[np.uint32]


def pack(entries: Table) -> bytes:
    """A table in the package's form.

    Args:
        entries: uint32 of shape (n,), n a multiple of 16.

    Raises:
        ValueError: it has more than 65,536 distinct runs of differences.
    """
    differences = np.diff(entries.view("<i4"), prepend=np.int32(0)).astype("<i4")
    distinct, which = np.unique(
        differences.view(f"V{4 * _RUN}"), return_inverse=True
    )  # a run as one thing: 20 times faster
    if len(distinct) > 1 << 16:
        raise ValueError(f"{len(distinct)} distinct runs do not fit two bytes")
    runs = distinct.view("<i4").reshape(-1, _RUN)
    sums = np.cumsum(runs, axis=1, dtype=np.int32)
    content = (np.array([len(distinct)], "<u4"), sums.astype("<i4"), which.astype("<u2"))
    return zlib.compress(b"".join(part.tobytes() for part in content), 9)


def unpack(packed: bytes) -> Table:
    """The table that `pack` was given: uint32 of shape (n,).

    Raises:
        ValueError: the bytes are damaged.
    """
    try:
        content = zlib.decompress(packed)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    (count,) = np.frombuffer(content, "<u4", 1)
    sums = np.frombuffer(content, "<i4", int(count) * _RUN, offset=4).reshape(-1, _RUN)
    which = np.frombuffer(content, "<u2", offset=4 + sums.nbytes)
    if len(which) and which.max() >= count:
        raise ValueError("it names a run that does not exist")
    totals = sums[:, -1][which]
    before = np.cumsum(totals, dtype=np.int32) - totals  # wraps as the differences did
    entries: npt.NDArray[np.int32] = sums[which]
    entries += before[:, np.newaxis]
    return entries.reshape(-1).view(np.uint32)


def measured(path: Path) -> Table:
    """A table as it was measured: xz of little-endian int32, the first differences."""
    differences = np.frombuffer(lzma.decompress(path.read_bytes()), "<i4")
    return np.cumsum(differences, dtype=np.int32).view(np.uint32)


def main(folder: Path) -> None:
    """Pack each `NAME.xz` of a folder into the package's data."""
    for path in sorted(folder.glob("*.xz")):
        (DATA / path.stem).with_suffix(SUFFIX).write_bytes(pack(measured(path)))


# --- special function tables ------------------------------------------------------------------------------------------

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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
