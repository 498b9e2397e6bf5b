"""Bugs planted by hand, one for each kernel of `kernels/`, of kinds that no operator of `gpuregress mutate` makes.

Each `NAME.diff` begins with a sentence that names the mistake, and the case of a committed job that must notice it.

    python -m tests.kernels.planted        plants all of them in a copy of the project, and runs the cases
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class PlantedBug:
    """A bug: the mistake in words, the case that must notice it, the file that it changes."""

    path: Path
    mistake: str
    case: str
    file: str


def planted_bugs() -> dict[str, PlantedBug]:
    """Name → the bug."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.diff"))}


def _read(path: Path) -> PlantedBug:
    mistake, case, before, *_ = path.read_text(encoding="utf-8").splitlines()
    return PlantedBug(path, mistake.removeprefix("# "), case.removeprefix("# "), before.removeprefix("--- a/"))


def plant(bugs: Iterable[PlantedBug], folder: Path) -> None:
    """Copy the jobs, kernels and baselines into a folder, and apply the diffs there."""
    for name in ("configs", "kernels", "baselines"):
        shutil.copytree(ROOT / name, folder / name)
    for bug in bugs:
        command = ["git", "apply", "--whitespace=nowarn", str(bug.path)]
        subprocess.run(command, cwd=folder, check=True, env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": "/"})
