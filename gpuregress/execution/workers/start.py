"""Entry point of a GPU's worker, which starts the driver while Python loads its libraries.

    python -S -P …/gpuregress/workers/start.py --channel FD cuda:N [--after-fault]

It is run by its path and without `site`, which may take longer than Python itself. The driver's start and a context
take some 0.2 s of a small case, outside of Python; a thread asks for both here, without pycuda, and they are there when
pycuda asks again. What fails here fails there in the same way, and is reported then.
"""

from __future__ import annotations

import ctypes
import os
import sys
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


def _index(arguments: list[str]) -> int:
    """Parse the index of the named GPU; 0 if there is none."""
    name = next((word for word in arguments if word.startswith("cuda")), "")
    number = name.partition(":")[2]
    return int(number) if number.isdecimal() else 0


def _find_modules(path: str) -> None:
    """Take over the parent's module path; without one, as where a worker is started by hand, run Python's `site`."""
    if path:
        sys.path[:] = path.split(os.pathsep)
        try:
            from gpuregress.foundation import late_site  # noqa: PLC0415 - nothing of ours could be found before
        except ImportError:
            pass  # a package that only a hook of `site` finds
        else:
            late_site.postpone(sys.path)
            return
    import site  # noqa: PLC0415 - what -S left out

    site.main()


def main() -> None:
    """Start the driver, then the worker; the rest of Python's own start comes when it is needed."""
    begun = ContextStart(_index(sys.argv[1:]))
    _find_modules(os.environ.pop("GPUREGRESS_MODULE_PATH", ""))
    from gpuregress.execution.workers import child  # noqa: PLC0415 - as above

    child.serve_and_leave(begun=begun)


if __name__ == "__main__":
    main()
