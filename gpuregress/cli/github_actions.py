"""GitHub Actions: annotations on stdout and the summary of the step, without an option."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.cli import console

if TYPE_CHECKING:
    from gpuregress.cli.values import Target
    from gpuregress.foundation.records import RunSummary


def annotate(summary: RunSummary, root: Path, targets: Sequence[Target], *, to_stderr: bool) -> None:
    """Print the annotations of a run, and append to the step's summary; a refused summary is said on stderr.

    Args:
        summary: the run.
        root: the repository's folder.
        targets: the reports that were asked for.
        to_stderr: stdout is taken by one of them; the runner reads commands from both.
    """
    is_wanted = any(name == "github" for name, _ in targets)
    is_action = os.environ.get("GITHUB_ACTIONS") == "true"
    if not is_wanted and not is_action:
        return
    from gpuregress.report.formats import github

    if is_action and ("github", "-") not in targets:
        console.say_document(github.render(summary, root), err=to_stderr, is_inert=True)
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(github.step_summary(summary, root) + "\n")
        except OSError as error:
            console.say(f"gpuregress: the step's summary is not written: {error.strerror or error}", err=True)
