"""Dependencies of a Python source: the local modules that it imports, read from its syntax tree.

Nothing is imported for it. A module counts where its file is beside the source, or in a package there. Installed
packages do not count: the compiler's own version is part of every key. A source that opens files, starts programs, or
looks at the clock, the environment or random numbers does not tell all that it is made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gpuregress.toolchain.include_scanner import SourceInputs

_TELLING_CALLS = frozenset(
    {
        *("open", "exec", "eval", "__import__", "import_module", "read_text", "read_bytes", "fromfile", "loadtxt"),
        *("getenv", "popen", "system", "check_output", "check_call", "run", "Popen", "urlopen"),
        *("time", "time_ns", "now", "today", "urandom", "uuid4", "default_rng"),
    }
)
_TELLING_MODULES = frozenset({"random", "secrets", "subprocess", "socket", "urllib", "requests"})
_TELLING_NAMES = frozenset({"environ", "argv"})


def inputs(path: Path) -> SourceInputs:
    """Return the files that decide what a Python source is compiled to.

    Args:
        path: the source.

    Raises:
        OSError: it cannot be read.
    """
    files, contents = [path], [path.read_bytes()]
    structure: list[str] = []
    unknown = ""
    for number, file in enumerate(files):  # it grows
        names, telling = _read(contents[number])
        unknown = unknown or (f"{file.name}:{telling}" if telling else "")
        for name in names:
            found = _located(name, file.parent, path.parent)
            for one in found:
                if one not in files:
                    files.append(one)
                    contents.append(_content(one))
            structure.append(f"{number}: {name} {[files.index(one) for one in found]}")
    return SourceInputs(tuple(files), tuple(contents), "\n".join(structure), unknown)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _located(name: str, folder: Path, top: Path) -> tuple[Path, ...]:
    """Find the files of a module, with those of the packages that hold it.

    Args:
        name: dotted; relative ones begin with dots.
        folder: of the file that imports it.
        top: of the source.
    """
    plain = name.lstrip(".")
    level = len(name) - len(plain)
    base = folder if level else top
    for _ in range(level - 1):
        base = base.parent
    found = []
    for part in filter(None, plain.split(".")):
        for candidate in (base / part / "__init__.py", base / f"{part}.py"):
            if candidate.is_file():
                found.append(candidate)
                break
        base /= part
    return tuple(found)


@lru_cache(maxsize=256)
def _read(content: bytes) -> tuple[tuple[str, ...], str]:
    """The modules that a text imports, and what in it may read more than its text, as `12: open`."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return (), ""  # the compilation reports it
    return tuple(dict.fromkeys(_imports(tree))), next(_telling(tree), "")


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            yield name
            dot = "" if name.endswith(".") or not name else "."
            yield from (f"{name}{dot}{alias.name}" for alias in node.names if alias.name != "*")


def _telling(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        name = _name(node.func) if isinstance(node, ast.Call) else ""
        if name in _TELLING_CALLS:
            yield f"{getattr(node, 'lineno', 1)}: {name}()"
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"{node.lineno}: {one}" for one in modules if one.partition(".")[0] in _TELLING_MODULES)
        if isinstance(node, ast.Attribute) and node.attr in _TELLING_NAMES:
            yield f"{node.lineno}: {node.attr}"


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
