"""Cluster of a launch: written into the PTX of its kernel, where CUDA C++ writes `__cluster_dims__`."""

from __future__ import annotations

import re

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Dim3

_OWN = re.compile(r"\.reqnctapercluster\s+([\d,\s]+)")


def with_cluster(ptx: str, kernel: str, cluster: Dim3) -> str:
    """Return a module in which a kernel has clusters of this shape.

    Args:
        ptx: the module.
        kernel: its mangled name.
        cluster: blocks along x, y, z.

    Raises:
        UsageError: the kernel has clusters of another shape.
    """
    match = re.search(rf"\.entry\s+{re.escape(kernel)}\s*(?:\([^)]*\))?([^{{]*)\{{", ptx)
    if match is None:
        raise UsageError(f"there is no text of {kernel} that a cluster could be written into")
    own = _OWN.search(match[1])
    if own is not None:
        has = tuple(int(word) for word in own[1].split(","))
        if (*has, 1, 1)[:3] != cluster:
            raise UsageError(f"{kernel} has __cluster_dims__ of {', '.join(map(str, has))}: leave out cluster=")
        return ptx
    written = f".explicitcluster\n.reqnctapercluster {', '.join(map(str, cluster))}\n"
    return ptx[: match.end() - 1] + written + ptx[match.end() - 1 :]
