"""Gold standards for configs/langdon: the textbook's formulas, in integers that cannot go wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gpuregress import Case


def places(inputs: Mapping[str, npt.NDArray[np.uint32]], case: Case) -> npt.NDArray[np.uint32]:
    """Knuth's multiplicative hash: the top `bits` bits of key * floor(2^32 / golden ratio) modulo 2^32."""
    product = inputs["keys"].astype(np.uint64) * np.uint64(2654435769) % np.uint64(2**32)
    return (product >> np.uint64(32 - int(case.parameters["bits"]))).astype(np.uint32)


def strided(inputs: Mapping[str, npt.NDArray[np.int32]], _case: Case) -> npt.NDArray[np.int32]:
    """Each of 64 threads adds every 64th element of x."""
    return np.array([inputs["x"][thread::64].sum() for thread in range(64)], np.int32)
