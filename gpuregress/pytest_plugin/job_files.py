"""Recognition of job files among all YAML that pytest meets."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuregress.store.project import Project

_SOURCE = re.compile(rb"^(source|sources)[ \t]*:", re.MULTILINE)
_LAUNCHES = re.compile(rb"^(launches|function)[ \t]*:", re.MULTILINE)


def project_of(path: Path) -> Project | None:
    """Return the project whose job a file is; None for any other YAML.

    A project that says so (its settings, accepted results) owns every YAML file of its folder of jobs, as `gpuregress
    run` does. A folder that is merely called `configs` owns those that have the keys of a job.

    Args:
        path: of a YAML file.
    """
    home = _project(path.parent)
    if home is None or not path.is_relative_to(home.configs):
        return None
    if any(part.startswith(".") for part in path.relative_to(home.configs).parts):
        return None
    return home if _is_declared(home.root, home.baselines) or _has_keys_of_a_job(path) else None


@functools.lru_cache(maxsize=256)
def _project(folder: Path) -> Project | None:
    """The project of a folder; None without one, also where its settings are wrong."""
    if not any((above / name).exists() for above in (folder, *folder.parents) for name in _SIGNS):
        return None
    from gpuregress.foundation.errors import GpuregressError
    from gpuregress.store import project

    try:
        return project.find(folder)
    except GpuregressError:
        return None


_SIGNS = ("gpuregress.yaml", "configs", "pyproject.toml")


@functools.lru_cache(maxsize=64)
def _is_declared(root: Path, baselines: Path) -> bool:
    settings = root / "pyproject.toml"
    if (root / "gpuregress.yaml").exists() or any(baselines.glob("*/baseline.yaml")):
        return True
    return any(baselines.glob("*/*/baseline.yaml")) or (
        settings.is_file() and b"tool.gpuregress" in settings.read_bytes()
    )


def _has_keys_of_a_job(path: Path) -> bool:
    try:
        text = path.read_bytes()
    except OSError:
        return False
    return bool(_SOURCE.search(text) and _LAUNCHES.search(text))
