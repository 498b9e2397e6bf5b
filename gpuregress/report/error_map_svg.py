"""Error map of a buffer as inline SVG: a strip of bins, or a heat map of two dimensions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from gpuregress.escapes import visible_html as escape
from gpuregress.records import ErrorProfile, from_json
from gpuregress.report import error_map_text

_COLOURS = ("#1a9850", "#66bd63", "#a6d96a", "#d9ef8b", "#fee08b", "#fdae61", "#f46d43", "#d73027")
"""Green to red, one a level of `error_map_text.level`."""
_NAN, _SAME = "#d63fd0", "currentColor"
_WIDTH, _STRIP_HEIGHT, _ROW_HEIGHT = 720, 24, 12


def svg(maps: Mapping[str, Any]) -> Iterator[str]:
    """The map with its legend; nothing where there is none.

    Args:
        maps: the JSON of `ErrorMaps`, infinities as strings.
    """
    drawn = maps.get("heat_map") or maps.get("strip")
    if not drawn:
        return
    profile = from_json(ErrorProfile, {**drawn, "largest": [float(error) for error in drawn["largest"]]})
    rows, columns = profile.shape if len(profile.shape) == 2 else (1, profile.shape[0])
    height = rows * (_ROW_HEIGHT if len(profile.shape) == 2 else _STRIP_HEIGHT)
    box = f'viewBox="0 0 {columns} {rows}" preserveAspectRatio="none" width="{_WIDTH}" height="{height}"'
    cells = "".join(_cells(profile, columns))
    yield f'<svg class="errors" role="img" aria-label="where the errors are" {box}>{cells}</svg>'
    yield f'<p class="soft">{escape(_legend(profile, is_map=rows > 1))}</p>'


def _cells(profile: ErrorProfile, columns: int) -> Iterator[str]:
    low, high = error_map_text.ends(profile.largest)
    bins = zip(profile.largest, profile.differing, profile.of, strict=True)
    for at, (error, differing, of) in enumerate(bins):
        rectangle = f'x="{at % columns}" y="{at // columns}" width="1" height="1"'
        if not differing:
            yield f'<rect {rectangle} fill="{_SAME}" fill-opacity=".08"/>'
            continue
        title = f"{differing} of {of} differ, error up to {error:.3g}" if math.isfinite(error) else "NaN or infinity"
        yield f'<rect {rectangle} fill="{_colour(error, low, high)}"><title>{escape(title)}</title></rect>'


def _colour(error: float, low: float, high: float) -> str:
    if not math.isfinite(error):
        return _NAN
    return _COLOURS[error_map_text.level(error, low, high) if error > 0 else 0]


def _legend(profile: ErrorProfile, *, is_map: bool) -> str:
    low, high = error_map_text.ends(profile.largest)
    what = "the buffer, its last axis to the right" if is_map else "the buffer from its first element to its last"
    sizes = f"; errors {low:.2g} (green) to {high:.2g} (red)" if high > low else f"; error {high:.2g}" if high else ""
    has_nan = any(not math.isfinite(error) for error in profile.largest)
    return what + sizes + ("; purple: NaN or infinity" if has_nan else "")
