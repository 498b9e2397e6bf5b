"""The frame of a page."""

from __future__ import annotations

import base64
import hashlib
import re

from gpuregress.report.html import frame


def test_the_policy_allows_the_pages_own_style_and_script() -> None:
    page = frame.framed("a < b", "<p>body</p>")
    assert "<title>a &lt; b</title>" in page
    assert "<p>body</p>" in page
    for tag in ("style", "script"):
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page
