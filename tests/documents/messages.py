"""Everything that the program may say, one text a line, to be read once from end to end before a release.

    python -m tests.documents.messages > messages.txt

First each command's help, then each text of three words or more in the code that is no docstring, with its place: in
Python, in C, and in the templates of pages. Values stand as `{…}`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from gpuregress.cli import main
from gpuregress.foundation import escapes
from tests.documents import generated
from tests.documents.snippets import ROOT

LEAST_WORDS = 3


def helps() -> Iterator[str]:
    """The help of the program and of each command."""
    yield main.get_help(generated.program())
    for context in generated.contexts():
        yield context.command.get_help(context)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module, each with its line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out.update(id(part) for part in ast.walk(node) if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(id(node.value))  # a docstring
    for node in ast.walk(tree):
        if id(node) in left_out or not isinstance(node, (ast.Constant, ast.JoinedStr)):
            continue
        text = _written(node)
        if len(text.split()) >= LEAST_WORDS:
            yield node.lineno, text


def texts_of_other_files(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file in C, or of a template of a page, each with its line."""
    text = path.read_text(encoding="utf-8")
    pattern = r'"((?:[^"\\\n]|\\.)*)"'
    if path.suffix == ".html":
        text = re.sub(r"{#.*?#}|{%.*?%}", _blank, text, flags=re.DOTALL)
        text = re.sub(r"{{.*?}}", "{…}", text)
        pattern = r">([^<>]+)<"
    for match in re.finditer(pattern, text):
        if len(match[1].split()) >= LEAST_WORDS:
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[1].split())


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "", match[0])


def _written(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)


if __name__ == "__main__":
    for help_text in helps():
        print(help_text, "\n", "-" * 80, sep="")  # noqa: T201
    readers = {".py": texts, ".c": texts_of_other_files, ".html": texts_of_other_files}
    for file in sorted((ROOT / "gpuregress").rglob("*")):
        if file.suffix in readers:
            for line, text in sorted(readers[file.suffix](file)):
                print(f"{file.relative_to(ROOT)}:{line}: {escapes.one_line(text)}")  # noqa: T201
