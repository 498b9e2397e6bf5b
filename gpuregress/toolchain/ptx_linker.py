"""Linker of PTX modules: several become one, as a linker of device code joins them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from gpuregress.foundation.errors import CompileError
from gpuregress.toolchain import ptx_declarations

_HEAD = re.compile(r"^[ \t]*\.(?:target|address_size)\b[^\n]*\n", re.MULTILINE)
_VERSION = re.compile(r"^[ \t]*\.version[ \t]+(\d+)\.(\d+)[^\n]*\n?", re.MULTILINE)
_FILE = re.compile(r"^[ \t]*\.file[ \t]+(\d+)", re.MULTILINE)
_NUMBER = re.compile(r"(^[ \t]*\.(?:file|loc)[ \t]+|\binlined_at[ \t]+)(\d+)", re.MULTILINE)
_FUNCTION = re.compile(
    r"^[ \t]*(?:\.(?P<linkage>extern|visible|weak)\b)?[ \t]*\.func\b\s*(?:\([^)]*\)\s*)?(?P<name>[\w$%]+)"
    r"\s*(?:\([^)]*\))?[^;{]*(?:;|(?P<body>\{))",
    re.MULTILINE,
)
_EXTERN_VARIABLE = re.compile(
    r"^[ \t]*\.extern\b[ \t]*\.(?:global|const|shared)\b[^;={]*?(?P<name>[\w$%]+)[ \t]*(?:\[[^\]]*\][ \t]*)*;",
    re.MULTILINE,
)
_STRING_OR_NAME = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<![\w$%.])[A-Za-z_$%][\w$]*(?![\w$.])')
"""A name that is no part of a directive or an opcode (`.global`, `add.s32`); strings are found so that they stay."""
_WEAK = re.compile(r"^[ \t]*\.(?:weak|common)\b", re.MULTILINE)
_WEAK_FUNCTION = re.compile(r"\s*\.(?:weak|common)\s+\.(?:func|entry)\b")
_MARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[{};]', re.DOTALL)


def linked(own: str, others: Sequence[str]) -> str:
    """Join modules of PTX.

    Args:
        own: the module whose target and address size stay.
        others: further ones, which come first, because a variable is defined before it is used.

    Raises:
        CompileError: two modules define one name.
    """
    if not others:
        return own
    modules = _with_weak_definitions_once(_with_names_apart([own, *others]))
    defined = _defined(modules)
    versions = [(int(match[1]), int(match[2])) for text in modules for match in _VERSION.finditer(text)]
    major, minor = max(versions, default=(0, 0))
    bodies: list[str] = []
    files = 0
    for module in modules:
        body = _HEAD.sub("", _VERSION.sub("", module))
        bodies.append(_numbered_from(_without_declarations(body, defined), files))
        files += max((int(number) for number in _FILE.findall(module)), default=0)
    # A prototype of each function, so that the order of the modules does not matter.
    prototypes: list[str] = []
    for body in bodies:
        definitions = [match[0] for match in _FUNCTION.finditer(body) if match["body"]]
        prototypes += [f"{text.removesuffix('{').rstrip()};\n" for text in definitions]
    head = "".join((f".version {major}.{minor}\n", *_HEAD.findall(own), *prototypes))
    return "\n".join((head, *bodies[1:], bodies[0]))


def _with_names_apart(modules: list[str]) -> list[str]:
    """Rename what only one module sees where another module has the name, too: `$str`, of the strings of printf."""
    linkages = [ptx_declarations.linkages(module) for module in modules]
    taken = {name for linked in linkages for name, linkage in linked.items() if linkage}
    renamed: list[str] = []
    for number, (module, linked) in enumerate(zip(modules, linkages, strict=True)):
        clashing = {name for name, linkage in linked.items() if not linkage and name in taken}
        taken |= linked.keys()
        renamed.append(_renamed(module, clashing, f"$module{number}"))
    return renamed


def _with_weak_definitions_once(modules: list[str]) -> list[str]:
    """Leave out all weak definitions of a name but the first, and the first one beside a visible one."""
    defined = {
        name
        for module in modules
        for name, linkage in ptx_declarations.linkages(module).items()
        if linkage == ".visible"
    }
    texts: list[str] = []
    for module in modules:
        kept: list[str] = []
        end = 0
        for match in _WEAK.finditer(module):
            start, kept_end = match.start(), end
            end = _end_of_item(module, start)
            item = module[start:end]
            names = ptx_declarations.linkages(item).keys()
            kept.append(module[kept_end:start])
            if _is_declaration(item) or not names <= defined:
                kept.append(item)
            if not _is_declaration(item):
                defined |= names
        texts.append("".join([*kept, module[end:]]))
    return texts


def _end_of_item(module: str, start: int) -> int:
    """Where the function or the variables that are declared from a place on end."""
    depth, is_variable = 0, _WEAK_FUNCTION.match(module, start) is None
    for match in _MARK.finditer(module, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and (match[0] == ";" or (match[0] == "}" and not is_variable)):
            return match.end()
    return len(module)


def _is_declaration(item: str) -> bool:
    """Whether a function is declared only, without a body."""
    return _WEAK_FUNCTION.match(item) is not None and "{" not in item


def _renamed(module: str, names: Collection[str], suffix: str) -> str:
    """Return a module with a suffix behind some names."""
    if not names:
        return module

    def with_suffix(match: re.Match[str]) -> str:
        return match[0] + suffix if match[0] in names else match[0]

    return _STRING_OR_NAME.sub(with_suffix, module)


def _numbered_from(module: str, first: int) -> str:
    """Return a module with other numbers of its files."""
    return _NUMBER.sub(lambda match: f"{match[1]}{int(match[2]) + first}", module)


def _defined(modules: Sequence[str]) -> set[str]:
    """The names of the functions and variables that modules define.

    Raises:
        CompileError: two of them define one.
    """
    defined: set[str] = set()
    for module in modules:
        functions = list(_FUNCTION.finditer(module))
        linkages = ptx_declarations.linkages(module)
        names = {name for name, linkage in linkages.items() if linkage != ".extern"}
        names -= {match["name"] for match in functions}
        names |= {match["name"] for match in functions if match["body"]}
        twice = sorted(defined & names)
        if twice:
            raise CompileError(f"{twice[0]} is defined in two of the PTX modules that are linked")
        defined |= names
    return defined


def _without_declarations(module: str, defined: Collection[str]) -> str:
    """Remove the declarations of what is defined in one of the modules."""

    def without(match: re.Match[str]) -> str:
        is_definition = match.re is _FUNCTION and match["body"]
        return "" if not is_definition and match["name"] in defined else match[0]

    return _EXTERN_VARIABLE.sub(without, _FUNCTION.sub(without, module))
