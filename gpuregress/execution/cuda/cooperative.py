"""Cooperative launches (`grid.sync()`) through the driver API, which pycuda does not offer.

A grid barrier needs cuLaunchCooperativeKernel. pycuda has no such call and does not give out its functions' handles, so
a program with such a kernel is loaded here, in pycuda's context, by an object that answers as pycuda's module does.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from gpuregress.execution.cuda import driver
from gpuregress.foundation.records import Dim3, Entry

# cuda.h, CUfunction_attribute.
_MAX_THREADS, _SHARED, _CONSTANT, _LOCAL, _REGISTERS, _MAX_DYNAMIC_SHARED = 0, 1, 2, 3, 4, 8
_CLUSTER_WIDTH, _CLUSTER_HEIGHT, _CLUSTER_DEPTH = 11, 12, 13
_STARTS = re.compile(
    r"^[ \t]*(?:\.visible |\.weak |\.extern )*\.(?P<kind>entry|func)\b[^\n]*?(?P<name>[\w$]+)\(", re.MULTILINE
)
# The barrier's memory is found through these two registers (cooperative_groups, get_grid_workspace).
_WORKSPACE = re.compile(r"%envreg[12]\b")


def kernels_in(ptx: str) -> frozenset[str]:
    """The mangled names of the kernels that wait for the whole grid.

    Args:
        ptx: a program; a function that waits makes every kernel of its program one that may.
    """
    if not _WORKSPACE.search(ptx):
        return frozenset()
    starts = list(_STARTS.finditer(ptx))
    ends = [match.start() for match in starts[1:]] + [len(ptx)]
    waiting = {
        (match["kind"], match["name"])
        for match, end in zip(starts, ends, strict=True)
        if _WORKSPACE.search(ptx, match.end(), end)
    }
    if any(kind == "func" for kind, _ in waiting):
        return frozenset(match["name"] for match in starts if match["kind"] == "entry")
    return frozenset(name for _, name in waiting)


class CooperativeProgram:
    """A loaded image; answers to `get_function` and `get_global` as pycuda's module does.

    Args:
        image: a cubin, or PTX with a zero at its end.
        entries: mangled name → kernel, for the offsets of its parameters.
    """

    def __init__(self, image: bytes, entries: dict[str, Entry]) -> None:
        self._entries = entries
        self._module = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self._module), image)

    def get_function(self, name: str) -> CooperativeFunction:
        """A kernel by its mangled name."""
        handle = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(handle), self._module, name.encode())
        return CooperativeFunction(handle, self._entries[name])

    def get_global(self, name: str) -> tuple[int, int]:
        """A variable's address and size."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), self._module, name.encode())
        return address.value, size.value

    def unload(self) -> None:
        """Free it."""
        call("cuModuleUnload", self._module)


class CooperativeFunction:
    """A kernel; answers as pycuda's function does, and launches its whole grid at once.

    Args:
        handle: the driver's.
        entry: the kernel's parameters.

    Attributes:
        cluster: blocks of a cluster along x, y, z, where the kernel has one.
    """

    cluster: Dim3 = (1, 1, 1)

    def __init__(self, handle: ctypes.c_void_p, entry: Entry) -> None:
        self._handle = handle
        self._offsets = _offsets(entry)
        self.num_regs = self._attribute(_REGISTERS)
        self.shared_size_bytes = self._attribute(_SHARED)
        self.local_size_bytes = self._attribute(_LOCAL)
        self.const_size_bytes = self._attribute(_CONSTANT)
        self.max_threads_per_block = self._attribute(_MAX_THREADS)
        with suppress(*driver.failures()):  # an older driver knows of no clusters
            width, height, depth = map(self._attribute, (_CLUSTER_WIDTH, _CLUSTER_HEIGHT, _CLUSTER_DEPTH))
            self.cluster = (max(1, width), max(1, height), max(1, depth))

    def allow_shared(self, size: int) -> None:
        """Allow `size` bytes of dynamic shared memory."""
        call("cuFuncSetAttribute", self._handle, _MAX_DYNAMIC_SHARED, ctypes.c_int(size))

    def resident_blocks(self, threads: int, shared: int) -> int:
        """Return the blocks that one multiprocessor holds at once, by the driver's count."""
        count = ctypes.c_int()
        shared_size = ctypes.c_size_t(shared)
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(count), self._handle, threads, shared_size)
        return count.value

    def launch(self, grid: Dim3, block: Dim3, packed: bytes, shared: int) -> None:
        """Start the kernel, all of its blocks at once."""
        with self._pointers(packed) as pointers:
            call("cuLaunchCooperativeKernel", self._handle, *grid, *block, shared, None, pointers)

    def launch_plain(self, grid: Dim3, block: Dim3, packed: bytes, shared: int) -> None:
        """Start a kernel of the same program that does not wait for its grid: it may have any number of blocks."""
        with self._pointers(packed) as pointers:
            call("cuLaunchKernel", self._handle, *grid, *block, shared, None, pointers, None)

    @contextmanager
    def _pointers(self, packed: bytes) -> Iterator[Any]:
        """A pointer to each argument, valid inside: the driver copies them when the launch is queued."""
        data = ctypes.create_string_buffer(packed, max(1, len(packed)))
        start = ctypes.addressof(data)
        yield (ctypes.c_void_p * max(1, len(self._offsets)))(*(start + offset for offset in self._offsets))

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        call("cuFuncGetAttribute", ctypes.byref(value), number, self._handle)
        return value.value


def _offsets(entry: Entry) -> Sequence[int]:
    offsets, at = [], 0
    for parameter in entry.parameters:
        at += -at % parameter.alignment
        offsets.append(at)
        at += parameter.size
    return offsets


@lru_cache(maxsize=1)
def _library() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    """Call the driver; a refusal is raised as pycuda raises its own."""
    status = int(getattr(_library(), name)(*arguments))
    if status:
        text = ctypes.c_char_p()
        _library().cuGetErrorString(status, ctypes.byref(text))
        words = (text.value or b"").decode(errors="replace") or f"CUDA error {status}"
        raise driver.api().Error(f"{name} failed: {words}")
