"""The boundary to pycuda: the only file that imports it.

pycuda ships no type information, so everything that crosses here is `Any`; `device.py` gives the results types.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from gpuregress.execution.cuda import prerequisites
from gpuregress.foundation.errors import DeviceError

BUSY_S = 2.0
"""How long the worker of an earlier run may still be at giving its context back, seconds."""


@lru_cache(maxsize=1)
def api() -> Any:
    """`pycuda.driver`, initialised.

    Raises:
        DeviceError: pycuda, the driver or a GPU is missing; the message names it, and the fix.
    """
    try:
        import pycuda.driver as pycuda_driver  # noqa: PLC0415 - an extra; it loads the driver's library

        pycuda_driver.init()
    except (ImportError, OSError) as error:
        raise DeviceError(prerequisites.explain_import(error)) from error
    except Exception as error:
        # pycuda.driver.Error cannot be named before the import has worked.
        raise DeviceError(prerequisites.explain_init(str(error))) from error
    return pycuda_driver


def patiently(make: Callable[[], Any], seconds: float = BUSY_S) -> Any:
    """Make a context; where the card takes one process only (compute mode), one that is just leaving is waited for.

    Args:
        make: makes it.
        seconds: how long a busy card is asked again.
    """
    late = time.monotonic() + seconds
    while True:
        try:
            return make()
        except failures() as error:
            if "busy or unavailable" not in str(error) or time.monotonic() >= late:
                raise
            time.sleep(0.02)


def failures() -> tuple[type[BaseException], ...]:
    """Return the exception types that pycuda raises for a call that CUDA refused."""
    return (api().Error, MemoryError)


def keep_forever(things: Iterable[Any]) -> None:
    """Make objects immortal: after a sticky error their destructors would only print a page of warnings."""
    for thing in things:
        if thing is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
