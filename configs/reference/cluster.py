"""The gold standard of configs/cluster.yaml's second kernel; the first one's is the histogram's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]

_READERS = 4 * 256
"""Threads of a cluster: each reads every 2 * 1024th value."""


def sums(inputs: Mapping[str, Array], case: Case) -> Array:
    """What each cluster's threads read, added: [2]."""
    del case
    data = inputs["data"].astype(np.uint64)
    cluster = np.arange(data.size) // _READERS % 2
    return np.array([data[cluster == number].sum() for number in range(2)]).astype(np.uint32)
