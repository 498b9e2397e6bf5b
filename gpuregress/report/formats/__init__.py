"""Report formats for other programs, each a module of this folder.

A module has a function `render(summary, root)`, which writes the entries of a run summary. A new format is a new
module, and nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuregress.foundation.records import RunSummary  # the command line asks for the names alone

FORMATS: tuple[str, ...] = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def render(name: str, summary: RunSummary, root: Path) -> str:
    """Render a run.

    Args:
        name: one of FORMATS; its module is imported when it is asked for.
        summary: the run.
        root: the repository's folder; files below it are named relative to it.
    """
    text: str = importlib.import_module(f"gpuregress.report.formats.{name}").render(summary, root)
    return text
