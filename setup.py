"""The README as an index shows it: its links lead to the repository. All else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup

SOURCE = "https://github.com/gpuregress/gpuregress"
README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")


def absolute(match: re.Match[str]) -> str:
    """A link with the address of its file; a picture with that of its contents."""
    kind = "raw" if match["path"].endswith((".svg", ".png")) else "blob"
    return f"{match['before']}{SOURCE}/{kind}/main/{match['path']}"


setup(
    long_description=re.sub(r'(?P<before>\]\(|(?:src|srcset)=")(?!https?:)(?P<path>[^)"]+)', absolute, README),
    long_description_content_type="text/markdown",
)
