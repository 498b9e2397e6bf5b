"""Dumps of arrays for the tests of judging."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Dump
from gpuregress.store.dumps import writer


def dump(folder: Path, name: str, values: Any, dtype: str = "float32") -> Dump:
    """Write values as the dump `name`, `BUFFER.REVISION`."""
    element = dtypes.parse(dtype)
    array = np.array(values, element.storage)
    return writer.write(folder / name, array, element, array.shape)
