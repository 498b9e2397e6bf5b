"""Compression of the special-function tables that the package contains.

Neighbouring entries differ by little, and the same few runs of differences come again and again. A packed table is one
zlib stream: the number of distinct runs (u32), what each run adds up to at each of its 16 entries (i32), then for each
16 entries which run they are (u16). All little-endian.

    python -m gpuregress.virtual_gpu.runtime.table_packing tests/virtual_gpu/measured/sm_90

packs the tables as they were measured (xz of first differences) into the package.
"""

from __future__ import annotations

import lzma
import sys
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.architectures import ARCHITECTURES

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
        raise ValueError("it names a run that is not there")
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
