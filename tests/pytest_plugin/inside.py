"""Sessions of pytest inside this process, with our plugin and no installed one."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpuregress.pytest_plugin

_OPTIONS = ("-p", "no:cacheprovider", "-p", "no:faulthandler", "--capture=sys")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Undo what a session leaves: modules of tests, and the variables that pytest sets."""
    modules, paths, environment = dict(sys.modules), [*sys.path], dict(os.environ)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        for name in set(sys.modules) - set(modules):
            if name.startswith("test_"):
                del sys.modules[name]
        sys.path[:] = paths
        os.environ.clear()
        os.environ.update(environment)


def run(folder: Path, base: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest in a folder; its exit code and output.

    Args:
        folder: where.
        base: for temporary files.
        arguments: of the command line.
    """
    output = io.StringIO()
    with _alone(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = pytest.main([*_OPTIONS, f"--basetemp={base}", *arguments], plugins=[gpuregress.pytest_plugin])
    return int(code), output.getvalue()
