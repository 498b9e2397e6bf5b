"""The page of the documents that lists whole programs under `gpuregress exec`: each list is a section of its own."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "program-samples.md"


def write_section(heading: str, text: str) -> None:
    """Replace the text below a heading of the second level, which the page has."""
    page = PAGE.read_text(encoding="utf-8")
    section = re.compile(rf"(?<=^## {re.escape(heading)}\n\n).*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    assert section.search(page), f"{PAGE} has no section {heading!r}"
    page = section.sub(lambda _: f"{text.strip()}\n\n", page, count=1)
    PAGE.write_text(f"{page.strip()}\n", encoding="utf-8")
