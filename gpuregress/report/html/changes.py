"""Changes of a night: new failures, then what still fails, is fixed, slower, near its tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.report.html.fragments import plural, status

_MOST_SHOWN = 30
_FAILURES = (
    ("new", "new failure"),
    ("changed", "failing differently"),
    ("still", "still failing"),
    ("fixed", "fixed"),
    ("unaccepted", "without a baseline"),
)
_REMARKS = (
    ("slower", "slower"),
    ("near", "near its tolerance"),
    ("known", "known to fail"),
    ("flaky", "flaky"),
)
_OPEN = ("new", "changed", "fixed")


def section(changes: Mapping[str, Any] | None, anchors: Mapping[str, str]) -> Iterator[str]:
    """The section of a night; nothing for other runs.

    Args:
        changes: `changes` of results.json, None without them.
        anchors: case → the id of its card.
    """
    if changes is None:
        return
    yield '<section aria-labelledby="changed"><h2 id="changed">What changed</h2>'
    against = changes.get("unknown") or (changes.get("against") and f"compared with the night {changes['against']}")
    if against:
        yield f'<p class="soft">{escape(str(against))}</p>'
    parts = [*_failures(changes, anchors), *_remarks(changes, anchors), *_skipped(changes)]
    yield from parts or ["<p>Nothing.</p>"]
    yield "</section>"


def _failures(changes: Mapping[str, Any], anchors: Mapping[str, str]) -> Iterator[str]:
    for key, title in _FAILURES:
        entries = changes.get(key) or ()
        write = _fixed if key == "fixed" else _failure
        lines = [write(entry, anchors) for entry in entries]
        yield from _folded(_counted(len(entries), title), lines, is_open=key in _OPEN)


def _failure(entry: Mapping[str, Any], anchors: Mapping[str, str]) -> str:
    parts = [f"{status(entry['status'])} {_link(entry['case'], anchors)}"]
    parts += [escape(entry["diagnosis"])] if entry.get("diagnosis") else []
    if entry.get("counts_before"):
        parts.append(f'<span class="soft">last night: {escape(entry["counts_before"])}</span>')
    parts += [f'<span class="soft">{escape(since_text(entry["since"]))}</span>'] if entry.get("since") else []
    parts += [f'<span class="soft">before: {escape(entry["before"])}</span>'] if entry.get("before") else []
    return " ".join(parts)


def _fixed(entry: Mapping[str, Any], anchors: Mapping[str, str]) -> str:
    since = f", {since_text(entry['since'])}" if entry.get("since") else ""
    return f'{_link(entry["case"], anchors)} <span class="soft">was {escape(entry["status"] + since)}</span>'


def _remarks(changes: Mapping[str, Any], anchors: Mapping[str, str]) -> Iterator[str]:
    for key, title in _REMARKS:
        entries = changes.get(key) or ()
        lines = [f"{_link(entry['case'], anchors)} {escape(entry['text'])}" for entry in entries]
        yield from _folded(_counted(len(entries), title), lines, is_open=any(entry.get("is_new") for entry in entries))


def _skipped(changes: Mapping[str, Any]) -> Iterator[str]:
    """Devices that are not there, and cases that got no turn."""
    lines = [
        f"{escape(one['device'])}: {plural(one['cases'], 'case')} skipped"
        + (f", {escape(one['why'])}" if one.get("why") else "")
        for one in changes.get("lacking") or ()
    ]
    yield from _folded("devices that this host lacks", lines, is_open=True)
    for key, title in (
        ("no_turn", "no turn before the deadline"),
        ("held_back", "skipped after timeouts of its kernel"),
    ):
        cases = changes.get(key) or ()
        yield from _folded(
            _counted(len(cases), title), [f"<code>{escape(case)}</code>" for case in cases], is_open=False
        )


def since_text(since: Mapping[str, Any]) -> str:
    """`since 20 Nov, 8eb0c1f`; `8eb0c1f+` where the work tree was changed."""
    try:
        day = datetime.fromisoformat(since["started"]).astimezone()  # as in the report in text
    except ValueError:
        text = str(since["started"])
    else:
        text = f"{day.day} {day:%b}"
    mark = ("+" if since.get("dirty") else "") + (", gone from git" if since.get("gone") else "")
    return f"since {text}" + (f", {since['commit'][:7]}{mark}" if since.get("commit") else "")


def _folded(title: str, lines: Sequence[str], *, is_open: bool) -> Iterator[str]:
    """A titled list of lines of HTML; the first few of many."""
    if lines:
        items = "".join(f"<li>{line}</li>" for line in lines[:_MOST_SHOWN])
        more = f"<li>and {len(lines) - _MOST_SHOWN} more, in the table</li>" if lines[_MOST_SHOWN:] else ""
        yield f"<details{' open' if is_open else ''}><summary>{title}</summary><ul>{items}{more}</ul></details>"


def _counted(count: int, title: str) -> str:
    return f"{count} {title}{'s' if count > 1 and title == 'new failure' else ''}"


def _link(case: str, anchors: Mapping[str, str]) -> str:
    name = f"<code>{escape(case)}</code>"
    return f'<a href="#{anchors[case]}">{name}</a>' if case in anchors else name
