"""Checks of one dump: `compare.checks` on the buffer read from its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Case, Check, Comparison, Dump
from gpuregress.store.dumps import files

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def check(case: Case, actual: Dump, wanted: Check) -> Comparison:
    """Check a dump.

    Args:
        case: the case that ran.
        actual: the buffer's dump.
        wanted: the check.

    Raises:
        DumpError: it does not hold what its header says.
        StorageError: it cannot be read.
    """
    from gpuregress.judge.compare import checks  # noqa: PLC0415 - loads numpy, which many runs do without
    from gpuregress.store.dumps import reader  # noqa: PLC0415 - as above

    files.verify(actual)
    array, element = reader.read(Path(actual.path)).array, dtypes.parse(actual.dtype)
    return checks.run(wanted, array, element, _Inputs(case), buffer=actual.buffer, shape=actual.shape, case=case)


class _Inputs(Mapping[str, "npt.NDArray[np.generic]"]):
    """A case's filled buffers as they were before the first launch, each made when a check asks for it."""

    def __init__(self, case: Case) -> None:
        self._buffers = {name: buffer for name, buffer in case.buffers.items() if buffer.fill is not None}

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        from gpuregress.jobs import inputs  # noqa: PLC0415 - as above
        from gpuregress.store.dumps import reader  # noqa: PLC0415 - as above

        return inputs.fill(self._buffers[name], read_dump=reader.read)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)
