"""Report formats for other programs, all written from the entries of one run summary."""

from __future__ import annotations

import importlib
from pathlib import Path

from gpuregress.foundation.records import RunSummary

FORMATS: tuple[str, ...] = ("junit", "sarif", "tap", "codequality", "markdown", "github", "lcov")


def render(name: str, summary: RunSummary, root: Path) -> str:
    """Render a run.

    Args:
        name: one of FORMATS; its module is imported when it is asked for.
        summary: the run.
        root: the repository's folder; files below it are named relative to it.
    """
    text: str = importlib.import_module(f"gpuregress.report.formats.{name}").render(summary, root)
    return text
