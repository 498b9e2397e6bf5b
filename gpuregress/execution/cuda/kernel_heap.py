"""Heap of kernels on a card (`malloc`, `new`), whose size is fixed when the first kernel uses it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from gpuregress.execution.cuda import cooperative
from gpuregress.foundation.records import DEFAULT_HEAP


@dataclass(slots=True)
class Heap:
    """The heap of a context.

    Attributes:
        wanted: bytes of it, by the case's job.
        size: bytes that it was given.
        is_used: whether a program was loaded whose kernels may have allocated.
    """

    wanted: int = DEFAULT_HEAP
    size: int = DEFAULT_HEAP
    is_used: bool = False

    @property
    def must_change(self) -> bool:
        """Whether it has another size, or may hold what earlier kernels left."""
        return self.is_used or self.size != self.wanted

    def begin(self) -> None:
        """Note that the context is a new one."""
        self.size, self.is_used = DEFAULT_HEAP, False

    def make(self, api: Any) -> None:
        """Set the size in the current context, where no kernel has used its heap.

        Args:
            api: `pycuda.driver`.
        """
        if self.size != self.wanted:
            api.Context.set_limit(api.limit.MALLOC_HEAP_SIZE, self.wanted)
            self.size = self.wanted


def reset_context(index: int) -> None:
    """Destroy the primary context of a card, whoever else in this process holds it.

    Args:
        index: of the card, as CUDA counts.
    """
    card = ctypes.c_int()
    cooperative.call("cuDeviceGet", ctypes.byref(card), index)
    cooperative.call("cuDevicePrimaryCtxReset_v2", card)
