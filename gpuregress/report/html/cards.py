"""Card of a case that failed: verdict and reason, how to reproduce it, its trend, its buffers."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gpuregress.foundation.records import BufferImage, PastResult, from_json
from gpuregress.gpu.records import Record
from gpuregress.report import case_lines
from gpuregress.report.html import pictures, trend
from gpuregress.report.html.scales import index_text
from gpuregress.report.html.sources import SourceViews
from gpuregress.report.html.templates import FAILED, fragment

Trends = Callable[[str, str], Sequence[PastResult]]
"""The past results of a case on devices of a kind, the newest first; "" for all devices."""
_MOST_ELEMENTS = 8
_BAR = 120
"""Pixels of the longest bar of a histogram."""
_MOST_DIGITS = 4


def no_trend(_case: str, _device: str) -> Sequence[PastResult]:
    """No past results: there is no history."""
    return ()


class RunFacts(Record):
    """The facts of a run that its cases share.

    Attributes:
        document: results.json.
        trends: the history.
        sources: the views of the sources.
    """

    document: Mapping[str, Any]
    trends: Trends
    sources: SourceViews = SourceViews()

    def of(self, entry: Mapping[str, Any], key: str) -> str:
        """A fact of a case, or else of the run: `host`, `commit`, `device`; "" where it is not known."""
        return str(entry.get(key) or self.document.get(key) or "")

    def past(self, entry: Mapping[str, Any]) -> Sequence[PastResult]:
        """The past results of a case on its kind of device, the newest first."""
        case, kind = case_lines.parts(entry["case"])
        return self.trends(case, entry["device"] or kind)

    def commit(self, entry: Mapping[str, Any]) -> str:
        """`8eb0c1f (main), with changes`; "" outside of a git repository."""
        commit, branch = self.of(entry, "commit"), self.of(entry, "branch")
        if not commit:
            return ""
        text = commit[:12]
        if branch:
            text += f" ({branch})"
        if self.document.get("dirty"):
            text += ", with changes"
        return text


def card(entry: Mapping[str, Any], anchor: str, facts: RunFacts, *, is_open: bool) -> Markup:
    """A case as a part that can be folded.

    Args:
        entry: of results.json.
        anchor: the id that rows link to.
        facts: of the run.
        is_open: whether it is unfolded at first.
    """
    past = facts.past(entry)
    return fragment(
        "card.html",
        "card",
        entry=entry,
        anchor=anchor,
        facts=of_case(entry, facts),
        command=command(entry, facts),
        source_lines=facts.sources.lines(entry),
        source_changes=facts.sources.changes(entry, anchor),
        timing=_timing(entry),
        trend=trend.strip(past, str(facts.document["run"])),
        chart=trend.charts(past, entry["case"]),
        buffers=[buffer(one, entry["case"]) for one in entry["buffers"] if one["verdict"] == "differ"],
        is_open=is_open,
    )


def _timing(entry: Mapping[str, Any]) -> str:
    """The comparison of times in a line; of a wrong result only where it is slower, for how fast it is says nothing."""
    timing = entry.get("timing_comparison")
    if not timing or (timing["status"] != "slower" and entry["verdict"] in FAILED):
        return ""
    return f"{timing['status']}: {timing['message']}"


def address(path: str) -> str:
    """The URL of a file of this host; "" of one that is elsewhere."""
    if not os.path.isabs(path):  # noqa: PTH117 - text
        return ""
    return Path(path).as_uri()


def command(entry: Mapping[str, Any], facts: RunFacts) -> str:
    """The command that runs the case alone, on the device where it ran."""
    case, kind = case_lines.parts(entry["case"])
    device = str(entry.get("device") or kind or facts.of(entry, "device"))
    words = ["gpuregress", "run", case]
    if device and "," not in device and " " not in device:
        words += ["--device", device]
    return shlex.join(words)


def of_case(entry: Mapping[str, Any], facts: RunFacts) -> list[tuple[str, str]]:
    """Revision, baseline, commit, host, device and time; "" for those that are not known."""
    model = (entry.get("device_facts") or {}).get("model", "")
    device = facts.of(entry, "device")
    if model:
        device = f"{device} ({model})"
    tolerance = ""
    if entry.get("tolerance_share") is not None:
        tolerance = f"{case_lines.percentage(float(entry['tolerance_share']))} used"
    return [
        ("revision", entry["revision"]),
        ("baseline", entry.get("baseline_revision")),
        ("commit", facts.commit(entry)),
        ("host", facts.of(entry, "host")),
        ("device", device),
        ("compiler", facts.of(entry, "compiler")),
        ("time", f"{entry['seconds']:.3f} s"),
        ("tolerance", tolerance),
    ]


# --- buffers ----------------------------------------------------------------------------------------------------------


def buffer(entry: Mapping[str, Any], case: str) -> Markup:
    """A buffer that differs: each comparison that failed, then the files.

    A comparison with a reference mostly says the same as that with the baseline, or has the same picture.

    Args:
        entry: of results.json.
        case: the case's name.
    """
    before, drawn = dict[str, str](), dict[str, str]()
    comparisons = []
    for comparison in entry["comparisons"]:
        if comparison["same"]:
            continue
        against = comparison["against"]
        first = before.setdefault(json.dumps({**comparison, "against": ""}, sort_keys=True), against)
        if first != against:
            comparisons.append({"against": against, "same_as": first})
            continue
        picture = json.dumps(comparison["numbers"].get("picture", {}).get("image"))
        comparisons.append(_comparison(entry["name"], comparison, case, above=drawn.get(picture, "")))
        drawn.setdefault(picture, against)
    files = [(kind, entry[kind], address(entry[kind])) for kind in ("dump", "baseline") if entry[kind]]
    return fragment("card.html", "buffer", entry["name"], comparisons, files)


def _comparison(name: str, comparison: Mapping[str, Any], case: str, above: str) -> dict[str, Any]:
    """One comparison.

    Args:
        name: the buffer's.
        comparison: of results.json.
        case: the case's name.
        above: the comparison that has drawn the same picture; "" for none.
    """
    image = _image(comparison)
    shape: Sequence[int] = image.shape if image is not None else ()
    worst = comparison["worst"]
    message = _message(comparison, shape)
    findings = [finding["message"] for finding in comparison["findings"]]
    picture = Markup()
    if image is not None and not above:
        description = message
        if findings:
            description += f"; it looks like: {findings[0]}"
        picture = pictures.figure(image, f"{name} of {case}", description, worst["index"] if worst else None)
    return {
        "against": comparison["against"],
        "same_as": "",
        "message": message,
        "rule": comparison["rule"],
        "first_wrong": (comparison.get("first_wrong") or {}).get("message"),
        "findings": findings,
        "picture": picture,
        "picture_above": above if image is not None else "",
        "elements": _elements(comparison, shape),
        "histogram": histogram(comparison["numbers"].get("ulp_histogram") or (), comparison["of"]),
    }


def _message(comparison: Mapping[str, Any], shape: Sequence[int]) -> str:
    """What differs, and the worst element with its thread."""
    message = str(comparison["message"])
    if not message and comparison["differing"]:
        message = f"{comparison['differing']} of {comparison['of']} differ"
    if not message:
        message = "differs"
    if comparison["worst"]:
        message += f"; the worst at {_index(comparison['worst'], shape)}"
        if comparison["numbers"].get("place"):
            message += f", {comparison['numbers']['place']}"
    return message


def _image(comparison: Mapping[str, Any]) -> BufferImage | None:
    """The comparison's image; None where none was drawn."""
    image = comparison["numbers"].get("picture", {}).get("image")
    if image is None:
        return None
    layers = dict(image)
    for name, layer in image.items():
        if isinstance(layer, dict):  # of numbers that are not finite the document has the names
            layers[name] = {**layer, "low": float(layer["low"]), "high": float(layer["high"])}
    return from_json(BufferImage, layers)


def _elements(comparison: Mapping[str, Any], shape: Sequence[int]) -> list[dict[str, Any]]:
    worst = comparison["worst"]
    elements = [element for element in comparison["first"][:_MOST_ELEMENTS] if element != worst]
    if worst:
        elements.insert(0, worst)
    return [{"index": _index(element, shape), "is_worst": element is worst, "entry": element} for element in elements]


def _index(element: Mapping[str, Any], shape: Sequence[int]) -> str:
    text = f"[{element['index']}]"
    if shape:
        text = index_text(shape, element["index"])
    if element["part"]:
        text += f".{element['part']}"
    return text


def histogram(counts: Sequence[tuple[str, int]], of: int) -> Markup:
    """The number of elements in each range of errors in ulp, as a table with bars; nothing without any.

    Args:
        counts: range of steps → elements that differ by so many.
        of: elements of the buffer.
    """
    if not counts:
        return Markup()
    highest = max(count for _, count in counts)
    rows = []
    for name, count in counts:
        width = max(1.0, _BAR * count / highest)
        share = f"{100 * count / of:.3g} %" if of else ""
        rows.append({"range": _range(name), "count": count, "width": width, "share": share})
    return fragment("card.html", "histogram", rows)


def _range(name: str) -> str:
    """`3-4` as it is; ranges of large powers of two as those, `2^61-2^62`."""
    first, dash, last = name.partition("-")
    if not (last.isdigit() and first.isdigit() and len(last) > _MOST_DIGITS):
        return name
    low = max(0, (int(first) - 1).bit_length() - 1)
    return f"2^{low}{dash}2^{int(last).bit_length() - 1}"
