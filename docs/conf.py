"""Sphinx's configuration of the documentation site: `sphinx-build -n -W --keep-going docs site`.

The pages are plain Markdown that a code host shows as well. What a site needs beyond it is added here: the contents of
each folder, which are the links of its index page, and addresses of files outside of docs/.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = METADATA["urls"]["Source"]

sys.path.insert(0, str(ROOT))

project = html_title = METADATA["name"]
version = release = METADATA["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_heading_anchors = 4
html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}  # the theme's have no landmark, which axe reports
html_copy_source = False
default_role = "code"  # docstrings have Markdown's single backticks
highlight_language = "text"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
nitpick_ignore_regex = [("py:.*", r"(?!gpuregress\.\w+$).*")]  # only the public names have a page
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
linkcheck_timeout = 20


class RepositoryLinks(SphinxTransform):
    """Make links out of docs/ links to the repository. MyST reports those whose target does not exist."""

    default_priority = 100  # before MyST copies the files as downloads

    def apply(self, **_options: Any) -> None:
        """Replace the links of one page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for node in [*self.document.findall(pending_xref), *self.document.findall(download_reference)]:
            target, _, anchor = node.get("reftarget", "").partition("#")
            # MyST gives a link to a page as its absolute path without the suffix.
            path = Path(f"{target}.md") if node.get("refdomain") == "doc" else Path(os.path.normpath(folder / target))
            is_outside = target.startswith(("../", "/")) and not path.is_relative_to(ROOT / "docs")
            if not is_outside or not path.exists():
                continue
            kind = "tree" if path.is_dir() else "blob"
            address = f"{SOURCE}/{kind}/main/{path.relative_to(ROOT)}"
            if anchor:
                address += f"#{anchor}"
            node.replace_self(nodes.reference("", "", *node.children, refuri=address))


def add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append a hidden table of contents to an index page: the pages of its folder that it links to, in that order."""
    folder, _, name = page.rpartition("/")
    if name != "index":
        return
    pages = dict.fromkeys(re.findall(r"\]\(([\w-]+)\.md\)" if folder else r"\]\(([\w-]+(?:/index)?)\.md\)", source[0]))
    source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *pages, "```", ""])


def make_code_focusable(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Let the keyboard reach each block of code, which may be wider than the screen."""
    if "body" in context:
        context["body"] = context["body"].replace("<pre>", '<pre tabindex="0">')


def setup(app: Sphinx) -> None:
    """Register what is defined here."""
    app.connect("html-page-context", make_code_focusable)
    app.add_transform(RepositoryLinks)
    app.connect("source-read", add_contents)
