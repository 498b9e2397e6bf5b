"""SARIF 2.1.0: the failures of a run as results of static analysis, for code scanning and editors."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpuregress import __version__
from gpuregress.foundation.escapes import json_text, visible
from gpuregress.foundation.records import RunSummary
from gpuregress.report.entries import ReportEntry, entries

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RULES: dict[str, str] = {
    "differ": "A result differs from what is expected of it.",
    "new": "A case has no accepted baseline yet.",
    "fault": "A kernel failed on the device.",
    "timeout": "A kernel was killed at its time limit.",
    "error": "A case could not be run.",
    "missing": "An expected case is missing.",
    "run": "The run failed or did not end.",
}
_ROOT = "SRCROOT"


def render(summary: RunSummary, root: Path) -> str:
    """The run as SARIF: one result for each failure; notes are notifications of the tool."""
    run: dict[str, Any] = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": f"gpuregress/{visible(summary.run)}"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder of the repository."}}},
        "invocations": [_invocation(summary)],
        "results": [_result(entry) for entry in entries(summary, root) if entry.is_news],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _driver() -> dict[str, Any]:
    rules = [{"id": name, "name": name.title(), "shortDescription": {"text": text}} for name, text in RULES.items()]
    return {"name": "gpuregress", "version": __version__, "rules": rules}


def _invocation(summary: RunSummary) -> dict[str, Any]:
    notes = [visible(note) for note in (*summary.notes, *summary.remarks) if note]
    invocation: dict[str, Any] = {
        "executionSuccessful": summary.exit_code == 0 and summary.state == "finished",
        "exitCode": summary.exit_code,
    }
    if summary.started:
        invocation["startTimeUtc"] = summary.started
    invocation["toolExecutionNotifications"] = [{"level": "note", "message": {"text": note}} for note in notes]
    return invocation


def _result(entry: ReportEntry) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": entry.status,
        "ruleIndex": list(RULES).index(entry.status),
        "level": "note" if entry.level == "known" else "error",
        "message": {"text": "\n".join((f"{entry.name}: {entry.message}", *entry.further_details))},
        "locations": [_location(entry)],
        "partialFingerprints": {"gpuregressCase/v1": fingerprint(entry)},
    }
    if entry.calls:
        calls = [_physical(path, line) for path, line in entry.calls]
        result["relatedLocations"] = [{"physicalLocation": call, "message": {"text": "called here"}} for call in calls]
    if entry.level == "known":
        result["suppressions"] = [{"kind": "external", "justification": entry.message}]
    return result


def _location(entry: ReportEntry) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": entry.name, "kind": "module"}]}
    if entry.path:
        location["physicalLocation"] = _physical(entry.path, entry.line)
    return location


def _physical(path: str, line: int) -> dict[str, Any]:
    artifact = {"uri": quote(path), "uriBaseId": _ROOT}
    if path.startswith("/"):
        artifact = {"uri": f"file://{quote(path)}"}
    return {"artifactLocation": artifact, "region": {"startLine": max(1, line)}}


def fingerprint(entry: ReportEntry) -> str:
    """A digest that stays the same from run to run while a case fails in the same way; numbers are not in it."""
    return hashlib.sha256(f"{entry.status}\n{entry.group}\n{entry.name}".encode()).hexdigest()[:40]
