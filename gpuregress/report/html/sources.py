"""Source lines of a failure, and what changed since its baseline was accepted."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from markupsafe import Markup

from gpuregress.foundation.records import SourceVersions
from gpuregress.foundation.wording import joined
from gpuregress.report.html.templates import fragment

VersionsOf = Callable[[Mapping[str, Any]], SourceVersions]
"""The sources of a case, which is an entry of `results.json`."""
_LINES_AROUND = 3
_MOST_CALLS = 3
_MOST_CHANGED_LINES = 80
_KINDS = {"+": "added", "-": "removed", "@": "hunk"}
"""First character of a line of a unified diff → its class."""


def no_versions(_entry: Mapping[str, Any]) -> SourceVersions:
    """No sources: they are not known."""
    return SourceVersions()


class SourceViews:
    """The views of a page; the changes of one source are shown with the first of its cases.

    Args:
        versions: finds the sources of a case.
    """

    def __init__(self, versions: VersionsOf = no_versions) -> None:
        self._versions = versions
        self._shown: dict[tuple[str, str], tuple[str, str]] = {}

    def lines(self, entry: Mapping[str, Any]) -> Markup:
        """The source lines of a failure, and of the calls that it is inlined into; nothing where unknown."""
        location = entry.get("location")
        if not location:
            return Markup()
        now = self._versions(entry).now
        excerpts = []
        for place in [location, *location.get("calls", ())[:_MOST_CALLS]]:
            text = now.get(place["file"])
            if text is not None and place["line"]:
                excerpts.append(_excerpt(place["file"], place["line"], text))
        if not excerpts:
            return Markup()
        return fragment("sources.html", "excerpts", excerpts)

    def changes(self, entry: Mapping[str, Any], anchor: str) -> Markup:
        """What changed in the sources since the baseline was accepted; nothing without one.

        Args:
            entry: of a case.
            anchor: the id of its card.
        """
        accepted = entry.get("accepted")
        if not accepted:
            return Markup()
        since = accepted_text(accepted)
        key = (str(entry.get("source", "")), str(accepted["source"]))
        if key[0] == key[1]:
            return fragment("sources.html", "unchanged", since)
        if key in self._shown:
            return fragment("sources.html", "shown_before", since, *self._shown[key])
        versions = self._versions(entry)
        if not versions.now or not versions.accepted:
            return fragment("sources.html", "unknown", since)
        self._shown[key] = (anchor, entry["case"])
        lines = list(_changed_lines(versions))
        if versions.commit:
            since = f"{since}, in commit {versions.commit[:7]}"
        return fragment("sources.html", "changes", since, lines[:_MOST_CHANGED_LINES], len(lines) - _MOST_CHANGED_LINES)


def accepted_text(accepted: Mapping[str, Any]) -> str:
    """`revision 1.2, accepted 2026-11-20 by Ada: the new order of sums`."""
    text = f"revision {accepted['revision']}, accepted {accepted['when'][:10]}"
    if accepted.get("who"):
        text += f" by {accepted['who']}"
    return joined(": ", text, accepted.get("why", ""))


def _excerpt(path: str, number: int, text: str) -> dict[str, Any]:
    lines = text.splitlines()
    first = max(1, number - _LINES_AROUND)
    numbered = list(enumerate(lines[first - 1 : number + _LINES_AROUND], first))
    return {"place": f"{os.path.basename(path)}:{number}", "number": number, "lines": numbered}  # noqa: PTH119 - text


def _changed_lines(versions: SourceVersions) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff, each with its class, file by file; a file that only one side has is named."""
    accepted, now = versions.accepted, versions.now
    # One file may have been renamed, and nothing else: it is compared with itself.
    if len(accepted) == len(now) == 1:
        accepted = dict.fromkeys(now, *accepted.values())
    for path in dict.fromkeys((*now, *accepted)):
        before, after = accepted.get(path, "").splitlines(), now.get(path, "").splitlines()
        if before == after:
            continue
        name = os.path.basename(path)  # noqa: PTH119 - text
        what = ""
        if path not in accepted:
            what = ", which is new"
        elif path not in now:
            what = ", which is gone"
        yield "hunk", f"{name}{what}"
        for line in list(difflib.unified_diff(before, after, lineterm="", n=_LINES_AROUND))[2:]:
            yield _KINDS.get(line[:1], "same"), line
