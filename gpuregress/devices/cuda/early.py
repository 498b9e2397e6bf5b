"""What a worker for a GPU begins before all else: the driver starts and makes its context while Python loads libraries.

The driver's start and a context take some 0.2 s of a small case, outside of Python. A thread asks for both here,
without pycuda; they are there when pycuda asks again. What fails here fails there in the same way, and is told then.
"""

from __future__ import annotations

import ctypes
import os
import threading


class Start:
    """The driver's start, under way.

    Args:
        index: the GPU, as this process counts.
    """

    def __init__(self, index: int) -> None:
        os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        self._threads = (
            threading.Thread(target=_make_context, args=(index,), name="context", daemon=True),
            threading.Thread(target=_open_management, name="management", daemon=True),
        )
        for thread in self._threads:
            thread.start()

    def is_under_way(self) -> bool:
        """Whether there is still time to do other things."""
        return any(thread.is_alive() for thread in self._threads)

    def join(self) -> None:
        """Waits until it is over, well or not."""
        for thread in self._threads:
            thread.join()


def _make_context(index: int) -> None:
    """Retains the card's primary context, for as long as the process lives."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    card, context = ctypes.c_int(), ctypes.c_void_p()
    if library.cuInit(0) == 0 and library.cuDeviceGet(ctypes.byref(card), index) == 0:
        library.cuDevicePrimaryCtxRetain(ctypes.byref(context), card)


def _open_management() -> None:
    """Keeps NVML open: each later opening of it is then counted only."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1").nvmlInit_v2()
    except OSError:
        return
