"""Start of a GPU's driver in a thread, while Python loads its libraries.

The driver's start and a context take some 0.2 s of a small case, outside of Python. A thread asks for both here,
without pycuda, and they are there when pycuda asks again. What fails here fails there in the same way, and is reported
then.
"""

from __future__ import annotations

import ctypes
import threading


class ContextStart:
    """The start of a GPU's driver, under way.

    Args:
        index: the GPU, as this process counts.
    """

    def __init__(self, index: int) -> None:
        self._thread = threading.Thread(target=_make_context, args=(index,), name="context", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until it is over, successfully or not."""
        self._thread.join()


def _make_context(index: int) -> None:
    """Retain the GPU's primary context for as long as the process lives."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    card, context = ctypes.c_int(), ctypes.c_void_p()
    if library.cuInit(0) == 0 and library.cuDeviceGet(ctypes.byref(card), index) == 0:
        library.cuDevicePrimaryCtxRetain(ctypes.byref(context), card)
