"""Frame of a page: the head with the style, the policy that allows nothing from elsewhere, the script."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from gpuregress.foundation.escapes import visible_html as escape


def framed(title: str, body: str) -> str:
    """A self-contained page.

    Args:
        title: as text.
        body: HTML.
    """
    style, script = _resource("page.css"), _resource("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{style}</style></head>\n<body>\n{body}\n'
        f"<script>{script}</script></body></html>\n"
    )


@cache
def _resource(name: str) -> str:
    return resources.files("gpuregress.report.html").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The hash by which the page's policy allows its own style and script, and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
