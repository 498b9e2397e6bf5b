"""Resolution of the files, folders and Python functions that a job names."""

from __future__ import annotations

import ast
import os
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation.document.problems import Problems, suggestion
from gpuregress.foundation.document.reader import Key


def existing(problems: Problems, key: Key, text: str, what: str) -> Path | None:
    """Return the absolute path of a file; None if it does not exist, which is reported.

    Args:
        problems: collects the errors.
        key: of the path.
        text: relative to the job, or absolute.
        what: its role in messages, as `source`.
    """
    path = absolute(problems, text)
    try:
        if path.is_file():
            return path
        if path.is_dir():
            problems.add(key, f"the {what} {path} is a folder")
            return None
        near = _near(path)
    except (OSError, ValueError) as error:
        problems.add(key, f"the {what} {str(path)[:200]} cannot be read: {getattr(error, 'strerror', None) or error}")
        return None
    problems.add(key, f"{what} not found: {path}{near}")
    return None


def existing_folder(problems: Problems, key: Key, text: str) -> Path | None:
    """Return the absolute path of an include folder; None if it does not exist, which is reported."""
    path = absolute(problems, text)
    try:
        if path.is_dir():
            return path
    except (OSError, ValueError):
        pass
    problems.add(key, f"folder not found: {path}")
    return None


def existing_function(problems: Problems, key: Key, text: str) -> str | None:
    """Return `/abs/module.py:function`; None if the file or function does not exist, which is reported."""
    name = text.rpartition(":")[2]
    path = existing(problems, key, text.rpartition(":")[0], "Python file")
    if path is None:
        return None
    try:
        names = _top_names(path, path.stat().st_mtime_ns)
    except (OSError, SyntaxError, ValueError) as error:
        problems.add(key, f"{path} is not Python: {error}")
        return None
    if name not in names and "*" not in names:
        problems.add(key, f"{path} has no function {name!r}{suggestion(name, sorted(names))}")
        return None
    return f"{path}:{name}"


def absolute(problems: Problems, text: str) -> Path:
    """Resolve a path relative to the job file."""
    return Path(os.path.normpath(problems.document.path.absolute().parent / text))


def _near(path: Path) -> str:
    """Suggest a file of the same folder."""
    folder = path.parent
    if not folder.is_dir():
        return f" (folder not found: {folder})"
    files = sorted(item.name for item in folder.iterdir() if item.suffix == path.suffix and item.is_file())
    return suggestion(path.name, files, there_are="the folder holds")


@lru_cache(maxsize=64)
def _top_names(path: Path, _changed_ns: int) -> frozenset[str]:
    """Collect the names that a module defines, without importing it; cached until the file changes."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names)
