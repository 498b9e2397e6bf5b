"""Layout rules of the code base: each module's docstring begins with one plain sentence, and no regular expression is
possessive. import-linter holds the layers.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gpuregress"
MOST_CHARACTERS = 100
_QUESTION = re.compile(r"(What|Which|Whether|How|Whose|Who|Whoever|Where|When|Why)\b")


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Module → its syntax tree."""
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")
    }


def is_plain(docstring: str | None) -> bool:
    """Tell whether a docstring begins with one line of one sentence that states no question."""
    first, *rest = (docstring or "").splitlines() or [""]
    return (
        first.endswith(".") and len(first) <= MOST_CHARACTERS and not _QUESTION.match(first) and rest[:1] in ([], [""])
    )


def poorly_described() -> set[str]:
    return {module for module, tree in trees().items() if tree.body and not is_plain(ast.get_docstring(tree))}


def test_each_module_begins_with_one_plain_sentence() -> None:
    assert poorly_described() == set()


@pytest.mark.parametrize(
    ("docstring", "plain"),
    [
        ("Liveness analysis.", True),
        ("Liveness analysis.\n\nMore.", True),
        ("Liveness analysis", False),
        ("Liveness analysis of\nregisters.", False),
        ("Which registers are live.", False),
        ("Whichever.", True),
        (f"{'Long ' * 20}.", False),
        (None, False),
    ],
)
def test_a_plain_sentence_is_told_from_others(docstring: str | None, *, plain: bool) -> None:
    assert is_plain(docstring) == plain


def test_no_regular_expression_is_possessive() -> None:
    """Python 3.11.2, which Debian 12 has, matches possessive quantifiers and atomic groups wrongly (gh-106052)."""
    possessive = re.compile(r"[*?}]\+|\(\?>")
    texts = (
        (module, node.value)
        for module, tree in trees().items()
        if any(isinstance(item, ast.Import) and item.names[0].name == "re" for item in ast.walk(tree))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert {module for module, text in texts if possessive.search(text)} == set()
