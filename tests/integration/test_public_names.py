"""The public names of the package: typed, documented, loaded when they are used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import gpuregress

PAGE = Path(__file__).parents[2] / "docs/reference/python.md"


@pytest.mark.parametrize("name", gpuregress.__all__)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(gpuregress, name)
    assert name in dir(gpuregress)
    if name != "__version__":
        assert inspect.getdoc(value)
        assert f"`{name}`" in PAGE.read_text() or f"`gpuregress.{name}" in PAGE.read_text()


def test_type_checkers_are_told_the_same_names() -> None:
    tree = ast.parse(Path(gpuregress.__file__).read_text())
    (branch,) = [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]
    told = {alias.name for node in branch.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told == set(gpuregress.__all__) - {"__version__"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'gpuregress' has no attribute 'Kernels'"):
        gpuregress.Kernels  # type: ignore[attr-defined]  # noqa: B018


def test_the_import_alone_loads_nothing_else() -> None:
    code = "import sys, gpuregress; print([name for name in sys.modules if name.startswith(('gpuregress.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
