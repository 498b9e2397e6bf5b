"""Reader of the configurations of `@triton.autotune`: imports a user's file, in a process of its own.

python -m gpuregress.toolchain.python_kernels.configuration_reader FILE FUNCTION sm_90 RESULT.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuregress.foundation import usermodules
from gpuregress.foundation.errors import CompileError
from gpuregress.toolchain.python_kernels import program_slice, stand_ins, triton_compiler

_SETTINGS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def entries(module: ModuleType, function: str) -> list[dict[str, Any]]:
    """Return the entries of a kernel's list as plain JSON, equal ones once.

    Args:
        module: the user's, imported.
        function: the kernel.

    Raises:
        CompileError: there is no list, or a value of it cannot be a parameter.
    """
    given = getattr(module, function, None)
    while given is not None and not hasattr(given, "configs"):
        given = getattr(given, "fn", None)
    if given is None:
        raise CompileError(f"{function} has no configurations of @triton.autotune")
    found: list[dict[str, Any]] = []
    for one in given.configs:
        constants = {name: _plain(function, name, value) for name, value in one.kwargs.items()}
        settings = {name: getattr(one, name, None) for name in _SETTINGS}
        entry = {"constants": constants, "settings": settings}
        if entry not in found:
            found.append(entry)
    return found


def _plain(function: str, name: str, value: Any) -> bool | int | float | str | None:
    value = getattr(value, "value", value)  # of tl.constexpr
    if type(value).__module__.startswith("triton.") and type(value).__name__ == "dtype":
        return f"tl.{value.name if hasattr(value, 'name') else value}"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise CompileError(f"{function}: {name}={value!r} of a triton.Config cannot be a parameter of a case")


def main(arguments: list[str]) -> None:
    """Write the entries, or what is wrong, to the file that is named last."""
    path, function, arch, result = arguments
    triton_compiler.prepare(arch)
    document: dict[str, Any]
    try:
        partial = program_slice.partial_import(Path(path), function, with_tuning=True)
        document = {"entries": usermodules.call_with(path, lambda module: entries(module, function), partial)}
    except (CompileError, usermodules.UserModuleError) as error:
        document = {"error": str(error)}
    except (Exception, usermodules.UserCodeExit) as wrong:  # noqa: BLE001 - whatever the user's code raises
        document = {"error": f"{path}: {usermodules.describe_error(wrong, path)}"}
    try:
        stand_ins.check(path)
    except CompileError as error:
        document = {"error": f"{error}, or write autotune: off, and the constants"}
    Path(result).write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
