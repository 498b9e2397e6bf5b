"""Cluster sizes of a program's kernels, from PTX directives: the driver's messages do not name them."""

from __future__ import annotations

import re

from gpuregress.foundation.records import Dim3

_KERNEL = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*(?:\([^)]*\))?(?P<directives>[^{;]*)\{")
_SIZE = re.compile(r"\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")


def sizes_in(ptx: str) -> dict[str, Dim3]:
    """Return the mangled name of each kernel with a cluster size -> blocks along x, y, z.

    Args:
        ptx: a program.
    """
    if ".reqnctapercluster" not in ptx:
        return {}
    directives = {match["name"]: _SIZE.search(match["directives"]) for match in _KERNEL.finditer(ptx)}
    return {name: (int(size[1]), int(size[2] or 1), int(size[3] or 1)) for name, size in directives.items() if size}
