"""GitLab code quality report: Code Climate issues as a JSON list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import json_text
from gpuregress.foundation.records import RunSummary
from gpuregress.report.entries import ReportEntry, entries
from gpuregress.report.formats.sarif import fingerprint

_NO_FILE = "gpuregress.yaml"
"""The file of what has none: GitLab drops an issue without a path."""
_SEVERITIES = {"error": "critical", "failure": "major", "known": "info"}


def render(summary: RunSummary, root: Path) -> str:
    """The failures of a run, each with a fingerprint by which GitLab compares two runs."""
    issues = [_issue(entry) for entry in entries(summary, root) if entry.level in _SEVERITIES]
    return json_text(issues, indent=1) + "\n"


def _issue(entry: ReportEntry) -> dict[str, Any]:
    return {
        "type": "issue",
        "check_name": f"gpuregress/{entry.status}",
        "description": f"{entry.name}: {entry.message}",
        "categories": ["Bug Risk"],
        "severity": _SEVERITIES[entry.level],
        "fingerprint": fingerprint(entry),
        "location": {"path": entry.path or _NO_FILE, "lines": {"begin": max(1, entry.line)}},
    }
