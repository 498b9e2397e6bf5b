"""Templates of the pages: jinja2 with our escaping, and a page's own style and script.

All that a template writes of a value is escaped by `visible_html`; only other templates' output is not.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from gpuregress.foundation.escapes import visible_html
from gpuregress.foundation.wording import plural
from gpuregress.report.case_lines import short

FAILED = frozenset(("differ", "fault", "timeout", "error"))
"""The verdicts that fail a run."""

_LONGEST_UNBROKEN = 18
"""Characters of a name that also a narrow screen has room for."""
_UNBROKEN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}|\d{4}-\d\d-\d\d(?!\w)|\d{4}-\d\d-\d\dT[\d:]+Z")
"""The name of a run, a day or a time: a browser would break it after each hyphen."""


def render(template: str, **values: Any) -> str:
    """Write a whole page.

    Args:
        template: one that extends `frame.html`.
        values: what it names.
    """
    return _environment().get_template(template).render(values)


def fragment(template: str, macro: str, *values: Any, **named: Any) -> Markup:
    """Write a part of a page by a macro of a template."""
    return Markup(getattr(_environment().get_template(template).module, macro)(*values, **named))  # noqa: S704 - escaped


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gpuregress.report.html", "."),
        autoescape=True,
        finalize=_escaped,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style, script = _resource("page.css"), _resource("page.js")
    environment.globals |= {
        "FAILED": FAILED,
        "style": style,
        "script": script,
        "style_digest": _digest(style),
        "script_digest": _digest(script),
    }
    environment.filters |= {"plural": plural, "short": short, "breakable": breakable, "foldable": foldable}
    return environment


def _escaped(value: Any) -> Markup:
    """What is written of a value: control characters are made visible, too, which jinja2 alone leaves as they are."""
    if isinstance(value, Markup):
        return value
    return Markup(visible_html(str(value)))  # noqa: S704 - it escapes


def breakable(text: str) -> Markup:
    """A name or path that a narrow screen breaks after its signs, and not inside a word."""
    if len(text) <= _LONGEST_UNBROKEN:
        return _escaped(text)
    parts = re.split(r"(?<=[/,=_:.-])(?=\w)", text)
    return Markup("<wbr>").join(map(_escaped, parts))


def foldable(text: str) -> Markup:
    """A text whose long names are broken as `breakable` does, and whose runs and times are not broken at all."""
    words: list[Markup] = []
    for word in re.split(r"( )", text):
        if _UNBROKEN.match(word):
            words.append(Markup('<span class="run">{}</span>').format(_escaped(word)))
        else:
            words.append(breakable(word))
    return Markup().join(words)


@cache
def _resource(name: str) -> Markup:
    text = resources.files("gpuregress.report.html").joinpath(name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of the package


def _digest(text: str) -> str:
    """The hash by which the page's policy allows its own style and script, and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
