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
    found = [one for one in entries(summary, root) if one.level not in ("passed", "skipped")]
    run: dict[str, Any] = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": f"gpuregress/{visible(summary.run)}"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder of the repository."}}},
        "invocations": [_invocation(summary)],
        "results": [_result(one) for one in found],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _driver() -> dict[str, Any]:
    rules = [{"id": name, "name": name.title(), "shortDescription": {"text": text}} for name, text in RULES.items()]
    return {"name": "gpuregress", "version": __version__, "rules": rules}


def _invocation(summary: RunSummary) -> dict[str, Any]:
    return {
        "executionSuccessful": summary.exit_code == 0 and summary.state == "finished",
        "exitCode": summary.exit_code,
        **({"startTimeUtc": summary.started} if summary.started else {}),
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": visible(note)}} for note in (*summary.notes, *summary.remarks) if note
        ],
    }


def _result(one: ReportEntry) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.status,
        "ruleIndex": list(RULES).index(one.status),
        "level": "note" if one.level == "known" else "error",
        "message": {"text": "\n".join((f"{one.name}: {one.message}", *_further(one)))},
        "locations": [_location(one)],
        "partialFingerprints": {"gpuregressCase/v1": fingerprint(one)},
    }
    if one.calls:
        result["relatedLocations"] = [
            {"physicalLocation": _physical(path, line), "message": {"text": "called here"}} for path, line in one.calls
        ]
    if one.level == "known":
        result["suppressions"] = [{"kind": "external", "justification": one.message}]
    return result


def _further(one: ReportEntry) -> tuple[str, ...]:
    return tuple(line for line in one.details if line != one.message)


def _location(one: ReportEntry) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": one.name, "kind": "module"}]}
    if one.path:
        location["physicalLocation"] = _physical(one.path, one.line)
    return location


def _physical(path: str, line: int) -> dict[str, Any]:
    below = not path.startswith("/")
    artifact = {"uri": quote(path) if below else f"file://{quote(path)}"}
    return {
        "artifactLocation": artifact | ({"uriBaseId": _ROOT} if below else {}),
        "region": {"startLine": max(1, line)},
    }


def fingerprint(one: ReportEntry) -> str:
    """A digest that stays the same from run to run while a case fails in the same way; numbers are not in it."""
    return hashlib.sha256(f"{one.status}\n{one.group}\n{one.name}".encode()).hexdigest()[:40]
