"""Card of a case that failed: verdict and reason, how to reproduce it, its trend, its buffers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import PastResult
from gpuregress.gpu.records import Record
from gpuregress.report import device_marks, tolerance_text
from gpuregress.report.html import comparisons
from gpuregress.report.html.drawing import trend
from gpuregress.report.html.fragments import FAILED, listed, preformatted, status

Trends = Callable[[str, str], Sequence[PastResult]]
"""The past results of a case on devices of a kind, the newest first; "" for all devices."""


class RunFacts(Record):
    """The facts of a run that its cases share.

    Attributes:
        document: results.json.
        trends: the history.
    """

    document: Mapping[str, Any]
    trends: Trends

    def of(self, entry: Mapping[str, Any], key: str) -> str:
        """A fact of a case, or else of the run: `host`, `commit`, `device`; "" where it is not known."""
        return str(entry.get(key) or self.document.get(key) or "")

    def past(self, entry: Mapping[str, Any]) -> Sequence[PastResult]:
        """The past results of a case on its kind of device, the newest first."""
        case, kind = device_marks.parts(entry["case"])
        return self.trends(case, entry["device"] or kind)


def card(entry: Mapping[str, Any], anchor: str, facts: RunFacts, *, is_open: bool) -> Iterator[str]:
    """A case as a part that can be folded.

    Args:
        entry: of results.json.
        anchor: the id that rows link to; within the part, so that a browser unfolds it.
        facts: of the run.
        is_open: whether it is unfolded at first.
    """
    word = escape(entry["verdict"])
    fails = " data-fails" if entry["verdict"] in FAILED else ""
    yield f'<details class="card {word}"{" open" if is_open else ""}{fails}>'
    yield f"<summary><h4>{status(entry['verdict'])} <code>{escape(entry['case'])}</code></h4>"
    yield f'<span class="why">{escape(entry["reason"])}</span></summary><div class="body" id="{anchor}">'
    yield _facts(entry, facts)
    past = facts.past(entry)
    yield from trend.strip(past, str(facts.document["run"]))
    yield from preformatted([command(entry, facts)], "command that reproduces it")
    yield from listed("Changed since the baseline", entry["changes"])
    yield from listed("Run again", entry.get("retried") or ())
    if timing := entry.get("timing_comparison"):
        yield from listed("Time", [f"{timing['status']}: {timing['message']}"])
    yield from preformatted(entry["fault"]["details"] if entry.get("fault") else (), "details of the fault")
    for buffer in entry["buffers"]:
        if buffer["verdict"] == "differ":
            yield from comparisons.buffer(buffer, entry["case"])
    yield from trend.chart(past, entry["case"])
    yield from _notes(entry)
    if entry.get("output"):
        yield "<details><summary>What the kernels printed</summary>"
        yield from preformatted([entry["output"]], "output of the kernels")
        yield "</details>"
    yield "</div></details>"


def command(entry: Mapping[str, Any], facts: RunFacts) -> str:
    """The command that runs the case alone, on the device where it ran."""
    case, kind = device_marks.parts(entry["case"])
    device = str(entry.get("device") or kind or facts.of(entry, "device"))
    chosen = ["--device", device] if device and "," not in device and " " not in device else []
    return shlex.join(["gpuregress", "run", case, *chosen])


def _facts(entry: Mapping[str, Any], facts: RunFacts) -> str:
    """Revision, baseline, commit, host, device and time in one line."""
    model = (entry.get("device_facts") or {}).get("model", "")
    device = facts.of(entry, "device")
    compiler = facts.of(entry, "compiler")
    pairs = (
        ("revision", entry["revision"]),
        ("baseline", entry.get("baseline_revision")),
        ("commit", commit_text(facts, entry)),
        ("host", facts.of(entry, "host")),
        ("device", f"{device} ({model})" if model else device),
        ("compiler", compiler),
        ("time", f"{entry['seconds']:.3f} s"),
        ("tolerance", _used(entry)),
    )
    items = "".join(f"<div><dt>{name}</dt><dd>{escape(str(text))}</dd></div>" for name, text in pairs if text)
    return f'<dl class="facts">{items}</dl>'


def _used(entry: Mapping[str, Any]) -> str:
    share = entry.get("tolerance_share")
    return f"{tolerance_text.percentage(float(share))} used" if share is not None else ""


def commit_text(facts: RunFacts, entry: Mapping[str, Any]) -> str:
    """`8eb0c1f (main), with changes`; "" outside of a git repository."""
    commit, branch = facts.of(entry, "commit"), facts.of(entry, "branch")
    changed = ", with changes" if facts.document.get("dirty") else ""
    return f"{commit[:12]}{f' ({branch})' if branch else ''}{changed}" if commit else ""


def _notes(entry: Mapping[str, Any]) -> Iterator[str]:
    """The notes; the further lines of a compiler's error stay as they are."""
    if entry["verdict"] == "error":
        yield from preformatted(entry["notes"], "messages")
    else:
        yield from listed("Notes", entry["notes"])
