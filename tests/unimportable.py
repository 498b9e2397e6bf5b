"""Packages that cannot be imported and are not installed, as if their extra were left out."""

from __future__ import annotations

from pathlib import Path

_SITE = """\
import sys
from importlib.machinery import PathFinder

LEFT_OUT = {packages!r}


class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in LEFT_OUT:
            return super().find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, *arguments, **options):
        found = super().find_distributions(*arguments, **options)
        return [one for one in found if one.name.partition("-")[0] not in LEFT_OUT]


sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""


def write(folder: Path, *packages: str) -> None:
    """Write the module that hides packages from each Python that has a folder in PYTHONPATH.

    Args:
        folder: is made.
        packages: top modules, which are also the first words of their distributions: `cuda` hides cuda-bindings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_SITE.format(packages=packages))
