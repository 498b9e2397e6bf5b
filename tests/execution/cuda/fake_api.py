"""As much of `pycuda.driver` as the device uses, on host memory: what is tested with it is our side of the boundary.

Kernels are Python functions that get the packed arguments and the fake card's memory. A kernel that raises `Fault`
leaves the context dead, as a sticky error does: every later call fails with the same words.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Kernel = Callable[["FakeApi", bytes], None]
PAGE = 1 << 20


class Error(Exception):
    """pycuda.driver.Error."""


class Fault(Exception):
    """What a fake kernel raises; its text is what CUDA would say at the next synchronize."""


class FakeApi:
    """One card with 64 MiB, a module with the given kernels, no device variables but `taps`."""

    Error = Error
    function_attribute = SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic shared")

    def __init__(self, kernels: dict[str, Kernel] | None = None, free: int = 256 << 20) -> None:
        self.kernels = kernels or {}
        self.free_bytes = free
        self.memory = np.zeros(64 << 20, np.uint8)
        self.next_address = PAGE
        self.freed: list[int] = []
        self.attributes_set: list[tuple[str, int]] = []
        self.pending = ""
        self.contexts: list[str] = []
        self.loaded: list[bytes] = []
        self.queued: list[str] = []
        self.under_way: list[tuple[int, Bytes]] = []
        self.device_attribute = SimpleNamespace(
            MAX_THREADS_PER_BLOCK="max threads",
            MAX_SHARED_MEMORY_PER_BLOCK="shared",
            WARP_SIZE="warp",
            MULTIPROCESSOR_COUNT="multiprocessors",
        )
        self.Device = _Devices(self)
        self.Context = SimpleNamespace(synchronize=self.synchronize, set_limit=self.set_limit)
        self.limit = SimpleNamespace(MALLOC_HEAP_SIZE="heap")
        self.limits: list[tuple[str, int]] = []

    def get_driver_version(self) -> int:
        return 13000

    def set_limit(self, limit: str, value: int) -> None:
        self._check("cuCtxSetLimit")
        self.limits.append((limit, value))

    def mem_get_info(self) -> tuple[int, int]:
        self._check()
        return self.free_bytes, 512 << 20

    def mem_alloc(self, size: int) -> Any:
        self._check()
        address = self.next_address
        self.next_address += -(-size // PAGE) * PAGE
        return _Allocation(self, address)

    def memcpy_htod(self, address: int, data: Bytes) -> None:
        self._check()
        self.memory[address : address + data.size] = data

    def memcpy_dtoh(self, target: Bytes, address: int) -> None:
        self._check()
        target[:] = self.memory[address : address + target.size]

    def memcpy_dtoh_async(self, target: Bytes, address: int, _stream: object) -> None:
        self.memcpy_dtoh(target, address)

    def memcpy_htod_async(self, address: int, data: Bytes, _stream: object) -> None:
        """As a card does it: the bytes are fetched later, from where they were then."""
        self._check()
        self.under_way.append((address, data))

    def arrive(self) -> None:
        """All copies that are under way reach the card."""
        for address, data in self.under_way:
            self.memory[address : address + data.size] = data
        self.under_way = []
        self.synchronize()

    def pagelocked_empty(self, size: int, dtype: type[np.uint8]) -> Bytes:
        return np.empty(size, dtype)

    def Stream(self) -> object:  # noqa: N802 - pycuda's name
        return SimpleNamespace(synchronize=self.arrive)

    def Event(self) -> Any:  # noqa: N802 - pycuda's name
        return SimpleNamespace(
            record=lambda *_: self.queued.append("event"), synchronize=self.arrive, time_till=lambda _end: 0.25
        )

    def module_from_buffer(self, image: bytes) -> Any:
        self._check()
        self.loaded.append(image)
        return _Module(self)

    def synchronize(self) -> None:
        self._check("cuCtxSynchronize")

    def _check(self, call: str = "cuMemAlloc") -> None:
        if self.pending:
            raise Error(f"{call} failed: {self.pending}")


class _Devices:
    def __init__(self, api: FakeApi) -> None:
        self._api = api

    def count(self) -> int:
        return 1

    def __call__(self, _index: int) -> Any:
        return SimpleNamespace(
            get_attribute={"max threads": 1024, "shared": 48 * 1024, "warp": 32, "multiprocessors": 8}.__getitem__,
            compute_capability=lambda: (9, 0),
            pci_bus_id=lambda: "0000:00:00.0",
            name=lambda: "NVIDIA Fake",
            total_memory=lambda: 512 << 20,
            retain_primary_context=self._retain,
        )

    def _retain(self) -> Any:
        contexts = self._api.contexts
        contexts.append("made")
        return SimpleNamespace(
            push=lambda: contexts.append("pushed"),
            pop=lambda: contexts.append("popped"),
            detach=lambda: contexts.append("detached"),
        )


class _Allocation:
    def __init__(self, api: FakeApi, address: int) -> None:
        self._api = api
        self._address = address

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        self._api.freed.append(self._address)


class _Module:
    def __init__(self, api: FakeApi) -> None:
        self._api = api

    def get_function(self, name: str) -> Any:
        return _Function(self._api, name)

    def get_global(self, name: str) -> tuple[int, int]:
        if name != "taps":
            raise Error("cuModuleGetGlobal failed: named symbol not found")
        return 4096, 16


class _Function:
    num_regs, shared_size_bytes, local_size_bytes, const_size_bytes, max_threads_per_block = 20, 0, 0, 0, 1024

    def __init__(self, api: FakeApi, name: str) -> None:
        self._api = api
        self._name = name

    def set_attribute(self, attribute: str, value: int) -> None:
        self._api.attributes_set.append((attribute, value))

    def _launch_kernel(self, _grid: object, _block: object, packed: bytes, _shared: int, _stream: object) -> None:
        self._api.queued.append(self._name)
        try:
            self._api.kernels[self._name](self._api, packed)
        except Fault as fault:
            self._api.pending = str(fault)


def pointer(packed: bytes, position: int = 0) -> int:
    """The 8-byte argument at a position."""
    (address,) = struct.unpack_from("<Q", packed, 8 * position)
    return int(address)
