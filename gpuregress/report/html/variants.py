"""Variants of cases: buffers that other settings change, and lines whose instructions differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.report.html.fragments import scrolling, short

_MOST_SHOWN = 30
_MOST_OPEN = 3


def section(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The section of all cases with variants; nothing without any."""
    varied = [entry for entry in cases if entry.get("variants")]
    if not varied:
        return
    title = "Variants: the same case, compiled with other settings"
    yield f'<section aria-labelledby="variants"><h2 id="variants">{title}</h2>'
    for at, entry in enumerate(varied[:_MOST_SHOWN]):
        first = escape(entry["variants"][0]["first"])
        yield f"<details{' open' if at < _MOST_OPEN else ''}><summary><h3><code>{escape(entry['case'])}</code></h3> "
        yield f'<span class="soft">compared with {first}</span></summary>'
        yield from scrolling(f"variants of {entry['case']}", _table(entry["variants"]))
        yield "</details>"
    if varied[_MOST_SHOWN:]:
        yield f'<p class="soft">{len(varied) - _MOST_SHOWN} more are in results.json</p>'
    yield "</section>"


def _table(variants: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    heads = '<th scope="col">variant</th><th scope="col">buffer</th><th scope="col" class="num">changed</th>'
    more = '<th scope="col" class="num">ulp</th><th scope="col">rule</th>'
    yield f'<table class="wide"><thead><tr>{heads}{more}</tr></thead><tbody>'
    for variant in variants:
        yield from _variant(variant)
    yield "</tbody></table>"


def _variant(variant: Mapping[str, Any]) -> Iterator[str]:
    name = f'<th scope="row"><code>{escape(variant["variant"])}</code></th>'
    for one in variant["buffers"]:
        kept = "kept" if one["same"] else "not equal under its rule"
        yield f'<tr>{name}<td>{escape(one["name"])}</td><td class="num">{one["changed"]} of {one["of"]}</td>'
        yield f'<td class="num">{short(one["max_ulp"])}</td><td>{kept}</td></tr>'
    if not variant["buffers"]:
        same = f"the same program as {variant['same_as']}" if variant["same_as"] else "no bit changes"
        text = escape(variant["message"] or same)
        yield f'<tr>{name}<td colspan="4">{text}</td></tr>'
    for change in variant["instructions"]:
        before, after = (escape(", ".join(change[side])) or "—" for side in ("before", "after"))
        where = escape(f"{change['file']}:{change['line']}")
        yield f'<tr><td></td><td class="mono" colspan="4">{where}: {before} → {after}</td></tr>'
