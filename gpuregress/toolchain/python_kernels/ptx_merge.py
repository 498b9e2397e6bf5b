"""Merge of PTX modules into one, as a linker of device code would join them.

What one module declares and another defines is one. What a module keeps for itself (no `.visible` or `.extern`) gets a
name of its own, and so do its weak functions, of which each module has a copy. Line information stays; the calls that a
line of a merged module is inlined into do not.

PTX ISA manual, 11.6 "Linking Directives".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuregress.foundation.errors import CompileError

_HEAD = re.compile(r"^[ \t]*\.(?:version|target|address_size)\b[^\n]*\n", re.MULTILINE)
_VERSION = re.compile(r"^[ \t]*\.version[ \t]+(\d+)\.(\d+)", re.MULTILINE)
_FILE = re.compile(r'^([ \t]*\.file[ \t]+)(\d+)(?=[ \t]+")', re.MULTILINE)
_LOCATION = re.compile(r"^([ \t]*\.loc[ \t]+)(\d+)([ \t]+\d+[ \t]+\d+)[^\n]*", re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*\.section\b[^{]*\{[^}]*\}\n?", re.MULTILINE)
_FUNCTION = re.compile(
    r"^[ \t]*(?P<linkage>\.extern|\.visible|\.weak)?[ \t]*\.func\b\s*(?:\([^)]*\)\s*)?(?P<name>[\w$%]+)"
    r"\s*(?:\([^)]*\))?[^;{]*(?:;|(?P<body>\{))",
    re.MULTILINE,
)
_VARIABLE = re.compile(
    r"^[ \t]*(?P<linkage>\.extern|\.visible|\.weak)?[ \t]*\.(?:global|const|shared)\b[^;={]*?"
    r"(?P<name>[A-Za-z_$%][\w$]*)\s*(?:\[[^;={]*)?(?:;|=)",
    re.MULTILINE,
)


def merged(own: str, linked: Sequence[str]) -> str:
    """Join modules.

    Args:
        own: the module that has the kernel.
        linked: those that define what it declares.

    Returns:
        One module: the others first, because a definition comes before its use.

    Raises:
        CompileError: two modules define one name.
    """
    if not linked:
        return own
    texts = [own, *linked]
    version = max(tuple(map(int, match.groups())) for text in texts if (match := _VERSION.search(text)))
    head = _HEAD.findall(own)
    files = 1 + max((int(number) for _, number in _FILE.findall(own)), default=0)
    parts = []
    for number, text in enumerate(linked):
        part = _with_own_names(_SECTION.sub("", text), f"_linked{number}")
        part = _with_files_from(part, files)
        files += 1 + max((int(one) for _, one in _FILE.findall(text)), default=0)
        parts.append(_HEAD.sub("", part))
    parts.append(_HEAD.sub("", own))
    known = _defined(parts)
    parts = [_without_declarations(part, known) for part in parts]
    declared = "".join(_prototype(match) for part in parts[:-1] for match in _FUNCTION.finditer(part) if match["body"])
    head[0] = f".version {version[0]}.{version[1]}\n"
    return "".join((*head, declared, *parts))


def _with_files_from(text: str, first: int) -> str:
    """Count a module's files from another number on, and leave the calls out that a line is inlined into."""

    def moved(match: re.Match[str]) -> str:
        position = match[3] if match.re is _LOCATION else ""
        return f"{match[1]}{first + int(match[2])}{position}"

    return _LOCATION.sub(moved, _FILE.sub(moved, text))


def _prototype(definition: re.Match[str]) -> str:
    """The declaration of a function, so that the order of the modules does not matter."""
    return f"{definition[0].removesuffix('{').rstrip()};\n"


def _with_own_names(text: str, suffix: str) -> str:
    """Rename what a module keeps for itself."""
    found = (match for pattern in (_FUNCTION, _VARIABLE) for match in pattern.finditer(text))
    own = {match["name"] for match in found if match["linkage"] in (None, ".weak")}
    if not own:
        return text
    names = "|".join(re.escape(name) for name in sorted(own, key=len, reverse=True))
    return re.sub(rf"(?<![\w$%.])(?:{names})(?![\w$])", lambda match: match[0] + suffix, text)


def _defined(parts: Sequence[str]) -> set[str]:
    """The names of the functions and variables that modules define.

    Raises:
        CompileError: two of them define one.
    """
    defined: set[str] = set()
    for part in parts:
        names = {match["name"] for match in _FUNCTION.finditer(part) if match["body"]}
        names |= {match["name"] for match in _VARIABLE.finditer(part) if match["linkage"] != ".extern"}
        if twice := sorted(defined & names):
            raise CompileError(f"{twice[0]} is defined in two of the files that are linked")
        defined |= names
    return defined


def _without_declarations(text: str, defined: set[str]) -> str:
    """Remove the declarations of what is defined elsewhere."""

    def without(match: re.Match[str]) -> str:
        is_declaration = match["linkage"] == ".extern" or (match.re is _FUNCTION and not match["body"])
        return "" if is_declaration and match["name"] in defined else match[0]

    return _VARIABLE.sub(without, _FUNCTION.sub(without, text))
