"""Stand-ins for generated and downloaded headers, made from the templates of the clone.

CMake fills in a template, `config.h.in`; protoc writes the enumerations of `data.proto`. Here no option of the template
is on but that of CUDA, and of a message there is the name alone. A header that the clone does not tell at all has no
more than declarations of the classes that the sources name of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

_TEMPLATE_SUFFIXES = (".in", ".cmakein", ".cmake.in")
_VARIABLE = re.compile(r"@\w+@|\$\{\w+\}")
_IN_NAME = re.compile(r"(?<=[A-Za-z_])@(\w+)@|@(\w+)@(?=\w)(?![uUlL]+\b)")
"""A variable that is a part of a name: `@PREFIX@_VERSION`."""
_ONLY_VARIABLE = re.compile(r"^[ \t]*(?:@\w+@|\$\{\w+\})[ \t]*$", re.MULTILINE)
_OF_CUDA = r"(?!\w*(?:NO|WITHOUT|DISABLE)_?CUDA)\w*_CUDA"
"""An option that is on where CUDA's sources are compiled: `WITH_CUDA`."""
_ON = re.compile(rf"^([ \t]*#[ \t]*)cmakedefine(?:01)?[ \t]+({_OF_CUDA})\b.*$", re.MULTILINE)
_SWITCH = re.compile(r"^([ \t]*#[ \t]*)cmakedefine01[ \t]+(\w+).*$", re.MULTILINE)
_OPTION = re.compile(r"^[ \t]*#[ \t]*cmakedefine[ \t]+(\w+).*$", re.MULTILINE)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PROTO = re.compile(
    r"""
    \b(?:package\s+(?P<package>[\w.]+)\s*;
    | import\s+(?:public\s+|weak\s+)?"(?P<import>[^"]+)"\s*;
    | enum\s+(?P<enum>\w+)\s*\{(?P<values>[^{}]*)\}
    | message\s+(?P<message>\w+)\s*\{)
    | (?P<open>\{) | (?P<close>\})
    """,
    re.VERBOSE,
)
_VALUE = re.compile(r"\b(\w+)\s*=\s*(-?\w+)\s*(?:\[[^\]]*\])?\s*;")
_QUALIFIED_CLASS = re.compile(
    r"(?<![\w:.>])(?P<scope>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)::(?P<name>[A-Za-z_]\w*)\b(?!\s*(?:\(|::))\s*(?P<template><?)"
)
_OF_CUDA_RUNTIME = re.compile(r"cu(?:da)?[A-Z]|CU[A-Z]")
"""Enumerations of CUDA, as of `cudaMemcpyKind::cudaMemcpyDefault`."""
_SCOPES = re.compile(
    r"\b(?:namespace|class|struct|union|enum|typename)\b((?:\s|\w|::|\([^()]*\))*)|\busing\s+(\w+)\s*="
    r"|\btypedef\b[^;]*?(\w+)\s*;"
)
"""What opens a namespace or names a type, with its words."""


def origins(header: str) -> Iterator[str]:
    """List the names of files from which a build makes a header.

    Args:
        header: as it is included, `pcl/config.h`.
    """
    name = Path(header).name
    for suffix in _TEMPLATE_SUFFIXES:
        yield f"{name}{suffix}"
    if name.endswith(".pb.h"):
        yield name.replace(".pb.h", ".proto")


def text_of(origin: Path) -> str:
    """Write the header that a build makes from a file.

    Args:
        origin: one of `origins`.

    Raises:
        OSError: it cannot be read.
    """
    content = origin.read_text(encoding="utf-8", errors="replace")
    if origin.suffix == ".proto":
        return _of_protocol(content)
    return _of_template(content)


def opaque_classes(texts: Collection[str], known: Collection[str]) -> str:
    """Declare the classes that sources name in namespaces which none of them opens, such as `half_float::half`.

    Args:
        texts: of all files that are compiled.
        known: namespaces of other headers.
    """
    plain = [_COMMENT.sub(" ", text) for text in texts]
    opened = set(known)
    for text in plain:
        for words in _SCOPES.findall(text):
            opened.update(re.findall(r"\w+", " ".join(words)))
    heads: dict[tuple[str, str], str] = {}
    for text in plain:
        for match in _QUALIFIED_CLASS.finditer(text):
            first = match["scope"].partition("::")[0]
            if first in opened or _OF_CUDA_RUNTIME.match(first):
                continue
            heads.setdefault((match["scope"], match["name"]), "class")
            if match["template"]:
                heads[match["scope"], match["name"]] = "template <class...> class"
    declared: list[str] = []
    for (scope, name), head in sorted(heads.items()):
        around, _, inner = scope.rpartition("::")
        if (around, inner) not in heads:  # else the scope is a class
            declared.append(f"namespace {scope} {{ {head} {name}; }}\n")
    return "".join(declared)


def _of_template(content: str) -> str:
    """Fill in a template of CMake as if no option but CUDA were on; what is a number or a part of a text is 0.

    In a name, a variable's own name takes its place.
    """
    content = _ON.sub(r"\1define \2 1", content)
    content = _SWITCH.sub(r"\1define \2 0", content)
    content = _OPTION.sub(r"/* #undef \1 */", content)
    content = _IN_NAME.sub(lambda match: match[1] or match[2], _ONLY_VARIABLE.sub("", content))
    return _VARIABLE.sub("0", content)


def _of_protocol(content: str) -> str:
    """Write the enumerations of a protocol as protoc does, and declare its messages.

    The names of what is nested are those that protoc gives, at namespace scope: `Outer_Inner` with `Outer_Inner_VALUE`.
    """
    lines = ["#pragma once"]
    declared: list[str] = []
    package = ""
    within: list[str] = []
    for part in _PROTO.finditer(_COMMENT.sub(" ", content)):
        if part["package"]:
            package = part["package"]
        elif part["import"]:
            lines.append(f'#include "{part["import"].replace(".proto", ".pb.h")}"')
        elif part["enum"]:
            enumeration = "_".join(filter(None, (*within, part["enum"])))
            scope = f"{enumeration}_" if any(within) else ""
            values = ", ".join(f"{scope}{name} = {number}" for name, number in _VALUE.findall(part["values"]))
            declared.append(f"enum {enumeration} : int {{ {values} }};")
        elif part["message"]:
            within.append(part["message"])
            declared.append(f"class {'_'.join(filter(None, within))};")
        elif part["open"]:
            within.append("")
        elif within:
            within.pop()
    if package:
        declared = [f"namespace {package.replace('.', '::')} {{", *declared, "}"]
    return "\n".join((*lines, *declared, ""))
