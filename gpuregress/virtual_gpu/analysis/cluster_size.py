"""Cluster dimensions that a kernel's directives demand.

PTX ISA manual, 11.7 "Cluster Dimension Directives".
"""

from __future__ import annotations

from gpuregress.gpu.errors import UnsupportedError
from gpuregress.gpu.programs import Dim3
from gpuregress.virtual_gpu.ptx.tree import Function


def cluster_size(function: Function) -> Dim3:
    """Blocks of a cluster along x, y, z; all 1 without a directive."""
    x, y, z = (*function.directives.get("reqnctapercluster", ()), 1, 1, 1)[:3]
    return (x, y, z)


def is_clustered(function: Function) -> bool:
    """Whether a function is a kernel whose clusters have more than one block."""
    return cluster_size(function) != (1, 1, 1)


def is_explicit(function: Function) -> bool:
    """Whether the kernel demands a launch in clusters."""
    return "explicitcluster" in function.directives or "reqnctapercluster" in function.directives


def check_cluster(function: Function) -> None:
    """Refuse a kernel whose cluster size is left to the launch.

    Raises:
        UnsupportedError: the kernel has no cluster size of its own.
    """
    if "explicitcluster" in function.directives and "reqnctapercluster" not in function.directives:
        raise UnsupportedError(
            f"{function.name} takes the size of its clusters from the launch, and launches here have none: "
            "write it in the source, __cluster_dims__(x, y, z)"
        )
