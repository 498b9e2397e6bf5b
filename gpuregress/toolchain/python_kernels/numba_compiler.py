"""Compiler of Numba kernels to PTX; needs no GPU and no driver.

Numba passes an array as the fields of a struct, each a parameter of its own: two pointers to the owner, the number of
elements and the bytes of one, the address, then the extents and the strides of each axis.
"""

from __future__ import annotations

import re
import warnings
from types import ModuleType
from typing import Any

from gpuregress.errors import CompileError
from gpuregress.records import CompiledLaunch, PythonKernel

PACKAGE = "numba-cuda"


def prepare(_arch: str) -> None:
    """Do nothing: a file is imported as it is."""


def compile_kernel(module: ModuleType, kernel: PythonKernel, arch: str) -> tuple[str, CompiledLaunch]:
    """Compile a kernel to PTX.

    Args:
        module: the user's, imported.
        kernel: what is compiled.
        arch: `sm_90`.

    Returns:
        The PTX, and how Numba passes the arguments.

    Raises:
        CompileError: it takes other arguments.
        Exception: what Numba raises where it does not compile.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba import cuda, types  # noqa: PLC0415 - an extra, and heavy
        from numba.core import sigutils  # noqa: PLC0415 - as above

        function: Any = getattr(module, kernel.function)
        function = getattr(function, "py_func", function)
        arguments, _ = sigutils.normalize_signature(f"void({', '.join(kernel.signature.values())})")
        odd = [one for one in arguments if not isinstance(one, types.Array | types.Number | types.Boolean)]
        if odd:
            raise CompileError(f"{kernel.function}: {odd[0]} cannot be passed; arrays, numbers and booleans can")
        number = int(re.sub(r"\D", "", arch))
        options = {"lineinfo": True, **kernel.settings}
        ptx, _ = cuda.compile(
            function, types.void(*arguments), cc=(number // 10, number % 10), device=False, abi="numba", **options
        )
    text = ptx.decode() if isinstance(ptx, bytes) else str(ptx)
    return text, CompiledLaunch(arguments=tuple(getattr(one, "ndim", 0) for one in arguments))


def describe_error(wrong: BaseException, file: str, _text: str) -> str:
    """Describe an error of Numba with the line of the user's file: `axpy.py:9: …`; "" if it names none.

    Args:
        wrong: what Numba raised.
        file: the user's, for messages.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(wrong))
    named = re.search(r'File "[^"]*", line (\d+)', text)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Failed in ")]
    if not text.startswith("Failed in "):
        return ""
    where = f"{file}:{named[1]}" if named else file
    return f"{where}: {lines[0].strip() if lines else type(wrong).__name__}"
