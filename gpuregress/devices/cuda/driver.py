"""The boundary to pycuda: the only file that imports it.

pycuda ships no type information, so everything that crosses here is `Any`; what comes of it is typed in `device.py`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from gpuregress.devices.cuda import host
from gpuregress.errors import DeviceError


@lru_cache(maxsize=1)
def api() -> Any:
    """`pycuda.driver`, initialised.

    Raises:
        DeviceError: pycuda, the driver or a GPU is missing; the message says which, and what mends it.
    """
    try:
        import pycuda.driver as pycuda_driver  # noqa: PLC0415 - an extra; it loads the driver's library

        pycuda_driver.init()
    except (ImportError, OSError) as error:
        raise DeviceError(host.explain_import(error)) from error
    except Exception as error:
        # pycuda.driver.Error cannot be named before the import has worked.
        raise DeviceError(host.explain_init(str(error))) from error
    return pycuda_driver


def failures() -> tuple[type[BaseException], ...]:
    """What pycuda raises for a call that CUDA refused."""
    return (api().Error, MemoryError)


def keep_forever(things: Iterable[Any]) -> None:
    """Makes objects immortal: after a sticky error their destructors would only print a page of warnings."""
    for thing in things:
        if thing is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
