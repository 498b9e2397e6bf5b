"""Layout rules of the code base.

Each module has a test module that its path names, no folder holds more modules than a reader can survey, each module's
docstring begins with one plain sentence, and no public class name stands twice in the package. Each rule has its list
of exceptions; one that is no longer needed fails as well.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gpuregress"
MOST_MODULES = 16
MOST_CHARACTERS = 100
_QUESTION = re.compile(r"(What|Which|Whether|How|Whose|Who|Whoever|Where|When|Why)\b")

CROWDED: dict[str, str] = {}
UNTESTED = {
    "toolchain/__init__.py": "tests/toolchain/machine_code/test_linked_programs.py: its own path would be test_.py",
    "__init__.py": "tests/integration/test_public_names.py: its own path would be tests/test_.py",
    **dict.fromkeys(
        (f"devices/cpu/checks/cells/{name}.py" for name in ("cell_rules", "happens_before", "shadow_place")),
        "tests/devices/cpu/checks/cells/test_access_lists.py: by histories of accesses",
    ),
    "devices/cpu/isa/texture/sampling.py": "tests/devices/texture_contract.py, the same on every device",
    "devices/cpu/isa/texture/texel.py": "tests/devices/texture_contract.py, the same on every device",
    "devices/cpu/isa/texture/textures.py": "tests/devices/texture_contract.py, the same on every device",
}


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Module → its syntax tree."""
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")
    }


def _has_behaviour(tree: ast.Module) -> bool:
    """Tell whether a module defines functions with a body; constants, records and Protocols need no test."""
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return any(not isinstance(node, ast.Expr) for function in functions for node in function.body)


def _tests_of(module: str) -> tuple[Path, ...]:
    """Return the paths that a module's tests may have: `a/b.py` is tested by `tests/a/test_b.py`, a package by either
    `tests/a/test_a.py` or `tests/test_a.py`.
    """  # fmt: skip
    folder, name = Path(module).parent, Path(module).stem.strip("_")
    if name == "init":
        return tuple(ROOT / "tests" / where / f"test_{folder.name}.py" for where in (folder, folder.parent))
    return (ROOT / "tests" / folder / f"test_{name}.py",)


def untested() -> set[str]:
    return {
        module
        for module, tree in trees().items()
        if _has_behaviour(tree)
        and not any("def test_" in path.read_text() for path in _tests_of(module) if path.is_file())
    }


def crowded() -> set[str]:
    modules = Counter(str(Path(module).parent) for module in trees() if Path(module).name != "__init__.py")
    return {folder for folder, count in modules.items() if count > MOST_MODULES}


def is_plain(docstring: str | None) -> bool:
    """Tell whether a docstring begins with one line of one sentence that states no question."""
    first, *rest = (docstring or "").splitlines() or [""]
    return (
        first.endswith(".") and len(first) <= MOST_CHARACTERS and not _QUESTION.match(first) and rest[:1] in ([], [""])
    )


def poorly_described() -> set[str]:
    return {module for module, tree in trees().items() if tree.body and not is_plain(ast.get_docstring(tree))}


def repeated_classes() -> set[str]:
    homes = defaultdict(set)
    for module, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(module)
    return {name for name, modules in homes.items() if len(modules) > 1}


def test_each_module_has_its_test_module() -> None:
    assert untested() == UNTESTED.keys()


def test_no_folder_holds_too_many_modules() -> None:
    assert crowded() == CROWDED.keys()


def test_each_module_begins_with_one_plain_sentence() -> None:
    assert poorly_described() == set()


def test_no_public_class_name_stands_twice() -> None:
    assert repeated_classes() == set()


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
