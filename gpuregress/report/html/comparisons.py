"""Comparisons of a buffer that failed: message, findings, pictures, elements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import BufferImage, from_json
from gpuregress.report.html.drawing import histogram, pictures
from gpuregress.report.html.drawing.scales import index_text
from gpuregress.report.html.fragments import listed, preformatted, scrolling, short

_MOST_ELEMENTS = 8


def buffer(entry: Mapping[str, Any], case: str) -> Iterator[str]:
    """A buffer that differs: each comparison that failed, then the files.

    Args:
        entry: of results.json.
        case: the case's name.
    """
    before, drawn = dict[str, str](), dict[str, str]()
    for comparison in entry["comparisons"]:
        if comparison["same"]:
            continue
        against = comparison["against"]
        # A comparison with a reference mostly says the same as that with the baseline, or has the same picture.
        first = before.setdefault(json.dumps({**comparison, "against": ""}, sort_keys=True), against)
        if first != against:
            text = f"({escape(against)}): the same as against the {escape(first)}"
            yield f"<p><b>{escape(entry['name'])}</b> {text}</p>"
            continue
        picture = json.dumps(comparison["numbers"].get("picture", {}).get("image"))
        yield from _comparison(entry["name"], comparison, case, above=drawn.get(picture, ""))
        drawn.setdefault(picture, against)
    yield from preformatted([f"{kind:<8}  {entry[kind]}" for kind in ("dump", "baseline") if entry[kind]], "files")


def _comparison(name: str, comparison: Mapping[str, Any], case: str, above: str) -> Iterator[str]:
    """One comparison.

    Args:
        name: the buffer's.
        comparison: of results.json.
        case: the case's name.
        above: the comparison that has drawn the same picture; "" for none.
    """
    counts = f"{comparison['differing']} of {comparison['of']} differ" if comparison["differing"] else "differs"
    message = comparison["message"] or counts
    rule = f' <span class="soft">rule: {escape(comparison["rule"])}</span>' if comparison["rule"] else ""
    image = _image(comparison)
    shape, worst = image.shape if image is not None else (), comparison["worst"]
    thread = comparison["numbers"].get("place", "")
    at = f"; the worst at {_index(worst, shape)}{f', {thread}' if thread else ''}" if worst else ""
    yield f"<p><b>{escape(name)}</b> ({escape(comparison['against'])}): {escape(message + at)}{rule}</p>"
    if comparison.get("first_wrong"):
        yield f"<p>{escape(comparison['first_wrong']['message'])}</p>"
    findings = [finding["message"] for finding in comparison["findings"]]
    yield from listed("Looks like", findings)
    if image is not None and above:
        yield f'<p class="soft">the picture is the same as against the {escape(above)}</p>'
    elif image is not None:
        description = f"{message}{at}" + (f"; it looks like: {findings[0]}" if findings else "")
        yield from pictures.figure(image, f"{name} of {case}", description, worst["index"] if worst else None)
    yield '<div class="columns">'
    yield from _elements(comparison, shape, name)
    yield from histogram.table(comparison["numbers"].get("ulp_histogram") or (), comparison["of"])
    yield "</div>"


def _image(comparison: Mapping[str, Any]) -> BufferImage | None:
    """The comparison's image; None in results of an earlier version."""
    found = comparison["numbers"].get("picture", {}).get("image")
    if found is None:
        return None
    layers = {
        name: {**layer, "low": float(layer["low"]), "high": float(layer["high"])} if isinstance(layer, dict) else layer
        for name, layer in found.items()
    }
    return from_json(BufferImage, layers)


def _elements(comparison: Mapping[str, Any], shape: Sequence[int], name: str) -> Iterator[str]:
    worst = [("worst", comparison["worst"])] if comparison["worst"] else []
    others = [element for element in comparison["first"][:_MOST_ELEMENTS] if element != comparison["worst"]]
    rows = [*worst, *(("", element) for element in others)]
    if rows:
        yield from scrolling(f"elements of {name}", _element_rows(rows, shape, comparison))


def _element_rows(
    rows: Sequence[tuple[str, Mapping[str, Any]]], shape: Sequence[int], comparison: Mapping[str, Any]
) -> Iterator[str]:
    sides = {"baseline": "baseline"}.get(comparison["against"], "expected")
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("element", sides, "now"))
    heads += "".join(f'<th scope="col" class="num">{head}</th>' for head in ("absolute", "relative", "ulp"))
    yield f'<table class="mono"><thead><tr>{heads}</tr></thead><tbody>'
    for label, element in rows:
        errors = "".join(
            f'<td class="num">{escape(short(element[key]))}</td>' for key in ("absolute", "relative", "ulp")
        )
        name = escape(_index(element, shape)) + (f' <span class="soft">{label}</span>' if label else "")
        yield f'<tr><th scope="row">{name}</th><td>{escape(element["expected"] or "—")}</td>'
        yield f"<td>{escape(element['actual'] or '—')}</td>{errors}</tr>"
    yield "</tbody></table>"


def _index(element: Mapping[str, Any], shape: Sequence[int]) -> str:
    where = index_text(shape, element["index"]) if shape else f"[{element['index']}]"
    return f"{where}{'.' + element['part'] if element['part'] else ''}"
