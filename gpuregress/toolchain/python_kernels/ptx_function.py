"""Caller of a user's function that returns PTX."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import CompiledLaunch, PythonKernel

PACKAGE = ""


def prepare(_arch: str) -> None:
    """Do nothing: a file is imported as it is."""


def compile_kernel(module: ModuleType, kernel: PythonKernel, arch: str) -> tuple[str, CompiledLaunch | None]:
    """Call the function, with `arch` and the case's parameters as far as it has parameters of these names.

    Args:
        module: the user's, imported.
        kernel: names the function; its constants are the case's parameters.
        arch: `sm_90`.

    Returns:
        The PTX; of the launch nothing is known.

    Raises:
        CompileError: it returns something else, or takes other arguments.
        Exception: whatever the function raises.
    """
    function = getattr(module, kernel.function)
    given: dict[str, Any] = {**kernel.constants, "arch": arch}
    parameters = inspect.signature(function).parameters.values()
    if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        names = {one.name for one in parameters}
        given = {name: value for name, value in given.items() if name in names}
        for one in parameters:
            if one.default is inspect.Parameter.empty and one.name not in given:
                there = ", ".join(["arch", *kernel.constants])
                raise CompileError(f"{kernel.function} has a parameter {one.name!r}: it is called with {there}")
    ptx = function(**given)
    text = ptx
    if isinstance(ptx, bytes | bytearray):
        text = ptx.decode(errors="replace").removesuffix("\0")  # NVRTC ends its text as C does
    if not isinstance(text, str) or ".version" not in text:
        shown = f"a text without .version: {text[:40]!r}" if isinstance(text, str) else repr(ptx)
        raise CompileError(f"{kernel.function} returned {shown[:200]}, and not PTX")
    return text, None


def describe_error(_wrong: BaseException, _text: str) -> tuple[str, int]:
    """Return no reason and no line: the traceback has both."""
    return "", 0
