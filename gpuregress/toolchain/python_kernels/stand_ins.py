"""Stand-ins for modules that are missing: each use raises, so that none becomes a value.

A file that is imported without one of its modules must not become another program than with it. A stand-in may be
bound to names and passed on. Everything else, an attribute, a call, a truth value, a comparison, raises an error. It is
also noted, because the code around it may catch the error and go on.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from gpuregress.foundation import usermodules
from gpuregress.foundation.errors import CompileError
from gpuregress.gpu.records import Record

_USES: list[str] = []
_OUTER = ("usermodules.py", "triton_compiler.py")
"""The modules of this package that call the user's code, and Triton."""


class MissingModuleUsed(Exception):
    """Code that decides a kernel uses a module that is not installed."""


class _Import(Record):
    """The import of a stand-in; see there."""

    name: str
    file: str
    line: int
    bound: str


class StandIn:
    """What a name is bound to in place of a missing module, or of something of it.

    Args:
        name: `torch` or `torch.nn.functional`.
        file: that imports it.
        line: of the import.
        bound: the name that it is bound to in the file.
    """

    def __init__(self, name: str, file: str, line: int, bound: str) -> None:
        self.__dict__["_import"] = _Import(name, file, line, bound)

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, f".{name}")

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        _refuse(self, f".{name}")


def _refuse(stand_in: StandIn, use: str) -> NoReturn:
    origin: _Import = stand_in.__dict__["_import"]
    package = origin.name.partition(".")[0]
    if use.startswith(".__"):
        use = ""  # a compiler asks what kind of thing it is
    text = f"{package} is not installed, and what decides the kernel uses {origin.name}{use}"
    line_of_use = _running_line() or _written_line(origin)
    if line_of_use:
        text += f" ({line_of_use})"
    text += f"; {Path(origin.file).name}:{origin.line} imports it: install {package}"
    _USES.append(text)
    raise MissingModuleUsed(text)


def _running_line() -> str:
    """Return the innermost line of the user's code that runs; "" where only a compiler does."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - there is no exception yet whose traceback has it
    while frame is not None:
        file = frame.f_code.co_filename
        if Path(file).name in _OUTER:
            break
        if not usermodules.is_installed_file(file) and Path(file).is_file():
            return f"line {frame.f_lineno} of {Path(file).name}"
        frame = frame.f_back
    return ""


def _written_line(origin: _Import) -> str:
    """Return the first line below the import that has the name: a compiler reads the text of a kernel."""
    for node in ast.walk(ast.parse(Path(origin.file).read_bytes())):
        if isinstance(node, ast.Name) and node.id == origin.bound and node.lineno > origin.line:
            return f"line {node.lineno} of {Path(origin.file).name}"
    return ""


def _operation(name: str) -> Any:
    def refuse(self: StandIn, *_arguments: object, **_named: object) -> NoReturn:
        _refuse(self, _USE.get(name, f" in {name.strip('_')}"))

    return refuse


_USE = {"__call__": "()", "__getitem__": "[]", "__mro_entries__": " as a base class"}
_OPERATIONS = (
    *("call", "getitem", "setitem", "delitem", "delattr", "mro_entries", "instancecheck", "subclasscheck"),
    *("bool", "len", "iter", "next", "contains", "index", "int", "float", "complex", "str", "repr", "format", "bytes"),
    *("eq", "ne", "lt", "le", "gt", "ge", "hash", "enter", "exit", "fspath", "neg", "invert"),
)
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "or", "and", "xor", "lshift", "rshift", "matmul")
for _name in (*_OPERATIONS, *_BINARY, *(f"r{name}" for name in _BINARY)):
    setattr(StandIn, f"__{_name}__", _operation(f"__{_name}__"))


def forget() -> None:
    """Drop the noted uses: they are reported otherwise."""
    _USES.clear()


def check(file: str) -> None:
    """Raise what a stand-in refused since the last call, also where the code around it caught the error.

    Args:
        file: that was imported, for the message.

    Raises:
        CompileError: see there.
    """
    refused = list(_USES)
    _USES.clear()
    if refused:
        raise CompileError(f"{file}: {refused[0]}")
