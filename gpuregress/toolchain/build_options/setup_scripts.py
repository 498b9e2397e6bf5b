"""Compiler options of the extension modules in a `setup.py`, by static analysis of its syntax tree.

The script is parsed and never run.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

_EXTENSIONS = ("CUDAExtension", "CppExtension", "Extension", "load", "CUDA_EXTENSION")
_SAME = (
    "str",
    "abspath",
    "realpath",
    "Path",
    "list",
    "absolute",
    "resolve",
    "as_posix",
    "copy",
    "expanduser",
    "normpath",
)
"""Functions and methods whose result is what they are given, as far as it matters here."""

Value = str | list[str] | dict[str, list[str]] | None


def words(text: str, file: Path, source: Path) -> list[str]:
    """Return the words for nvcc of the extension that a source belongs to.

    Where no extension names the source, those of the only one; of several, the include folders of all. A script that
    is no Python, or whose expressions are too deep to be read, has none.

    Args:
        text: the script.
        file: the script's path.
        source: the source's path.
    """
    try:
        return _words(ast.parse(text), file, source)
    except (SyntaxError, ValueError, RecursionError):
        return []


def _words(tree: ast.Module, file: Path, source: Path) -> list[str]:
    reader = _Literals(tree, file)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    extensions = [_Extension(call, reader) for call in calls if _last_name(call.func) in _EXTENSIONS]
    own = [extension for extension in extensions if extension.names(source)]
    chosen = own[:1] or extensions
    result: list[str] = []
    for extension in chosen:
        result += extension.folders()
        if len(chosen) == 1:
            result += extension.options()
    return result


class _Extension:
    """The call that describes an extension module."""

    def __init__(self, node: ast.Call, reader: _Literals) -> None:
        self._keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        self._node, self._reader = node, reader

    def names(self, source: Path) -> bool:
        """Tell whether a source is among its files."""
        nodes = [*self._node.args, self._keywords.get("sources")]
        files = [text for node in nodes if node is not None for text in self._reader.strings(node)]
        return any(Path(text).name == source.name for text in files)

    def folders(self) -> list[str]:
        """The options with its include folders."""
        result: list[str] = []
        for name in ("include_dirs", "extra_include_paths"):
            for folder in self._strings(name):
                result += ["-I", folder]
        return result

    def options(self) -> list[str]:
        """Its macros, and the options for nvcc."""
        result: list[str] = []
        macros = self._keywords.get("define_macros")
        for pair in self._reader.elements(macros) if macros is not None else ():
            if isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
                name, value = (self._reader.value(part) for part in pair.elts)
                if isinstance(name, str):
                    result.append(f"-D{name}={value}" if isinstance(value, str) else f"-D{name}")
        arguments = self._keywords.get("extra_compile_args")
        given = self._reader.value(arguments) if arguments is not None else None
        if isinstance(given, dict):
            result += given.get("nvcc", [])
        elif isinstance(given, list):
            result += given
        return [*result, *self._strings("extra_cuda_cflags")]

    def _strings(self, name: str) -> list[str]:
        node = self._keywords.get(name)
        return self._reader.strings(node) if node is not None else []


class _Literals:
    """The literals of a script; a name has the value that it is assigned first."""

    def __init__(self, tree: ast.Module, file: Path) -> None:
        self._folder = str(file.parent)
        self._file = str(file)
        self._assigned: dict[str, ast.expr] = {}
        self._open: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._assigned.setdefault(node.targets[0].id, node.value)

    def strings(self, node: ast.expr) -> list[str]:
        """The strings of a list, or the one that a text is."""
        value = self.value(node)
        if isinstance(value, str):
            return [value]
        return value if isinstance(value, list) else []

    def elements(self, node: ast.expr) -> Iterator[ast.expr]:
        """The nodes of a list's elements."""
        if isinstance(node, ast.Name) and node.id in self._assigned:
            node = self._assigned[node.id]
        if isinstance(node, ast.List | ast.Tuple):
            yield from node.elts

    def value(self, node: ast.expr) -> Value:
        """Return what a literal says; what is not spelled out is left out of lists, and None elsewhere."""
        if isinstance(node, ast.Constant):
            return str(node.value) if isinstance(node.value, str | int) else None
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [text for element in node.elts for text in self.strings(element)]
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return {str(self.value(key)): self.strings(value) for key, value in pairs if key is not None}
        if isinstance(node, ast.BinOp):
            return self._joined(node)
        if isinstance(node, ast.JoinedStr):
            parts = [self.value(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
            texts = [part for part in parts if isinstance(part, str)]
            return "".join(texts) if len(texts) == len(parts) else None
        if isinstance(node, ast.Attribute):
            inner = self.value(node.value)
            return os.path.dirname(inner) if node.attr == "parent" and isinstance(inner, str) else None  # noqa: PTH120
        return self._called(node) if isinstance(node, ast.Call) else None

    def _named(self, name: str) -> Value:
        if name == "__file__":
            return self._file
        if name not in self._assigned or name in self._open:
            return None
        self._open.add(name)
        value = self.value(self._assigned[name])
        self._open.discard(name)
        return value

    def _joined(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Div) and isinstance(left, str) and isinstance(right, str):
            return os.path.join(left, right)  # noqa: PTH118 - text in, text out
        if not isinstance(node.op, ast.Add):
            return None
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        if isinstance(left, list) or isinstance(right, list):
            return [*(left if isinstance(left, list) else []), *(right if isinstance(right, list) else [])]
        return None

    def _called(self, node: ast.Call) -> Value:
        name = _last_name(node.func)
        inner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if name == "getcwd":
            return self._folder
        if name == "join":
            parts = [self.value(argument) for argument in node.args]
            texts = [part for part in parts if isinstance(part, str)]
            return os.path.join(*texts) if texts and len(texts) == len(parts) else None  # noqa: PTH118
        if name == "dirname" and node.args:
            text = self.value(node.args[0])
            return os.path.dirname(text) if isinstance(text, str) else None  # noqa: PTH120
        if name in _SAME and (node.args or inner):
            return self.value((node.args or inner)[0])
        # A function of the script that adds to a list: what it adds is not known.
        given = [value for value in map(self.value, node.args) if isinstance(value, list)]
        return given[0] if given else None


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
