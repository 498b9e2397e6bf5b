"""Demangler of C++ names, for the part of the Itanium ABI that kernels' names use."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_BUILTIN = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
}


@lru_cache(maxsize=4096)
def full_name(mangled: str) -> str:
    """Return the C++ name with its parameters, by the demangler of the C++ library; "" where there is none.

    Args:
        mangled: `_Z5saxpyIfEvT_PKS0_PS0_i`.
    """
    if not mangled.startswith("_Z"):
        return ""

    functions = _demangler()
    if functions is None:
        return ""
    demangler, free = functions
    status = ctypes.c_int(1)
    pointer = demangler(mangled.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not pointer:
        return ""
    text = ctypes.string_at(pointer).decode("utf-8", "replace")
    free(ctypes.c_void_p(pointer))
    return text


@lru_cache(maxsize=1)
def _demangler() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The C++ library's demangler, and the function that frees its result."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        demangler, free = library["__cxa_demangle"], library["free"]
    except (OSError, AttributeError):
        return None
    demangler.restype = ctypes.c_void_p
    demangler.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    return demangler, free


def split_parameters(text: str) -> tuple[str, str]:
    """Split `void a::k<float>(float const*, int)` into `a::k<float>` and `float const*, int`."""
    depth, start, end = 0, -1, len(text)
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] in ")>]}") - (text[at] in "(<[{")
        if text[at] == ")" and start < 0 and depth == 1:
            end = at
        if text[at] == "(" and depth == 0:
            start = at
            break
    if start < 0:
        return text, ""
    name = text[:start]
    depth = 0
    for at in range(len(name) - 1, -1, -1):  # a template's name follows its return type
        depth += (name[at] in ")>]}") - (name[at] in "(<[{")
        if name[at] == " " and depth == 0:
            name = name[at + 1 :]
            break
    return name, text[start + 1 : end]


class _Unknown(Exception):
    """A construct that this reader does not know."""


def demangle(mangled: str) -> str:
    """Return the C++ name without the parameter list: `_ZN1a1kIfLi3EEvPT_` → `a::k<float, 3>`.

    Args:
        mangled: a name from PTX or a cubin.

    Returns:
        The readable name; "" where the name is not mangled, or uses more of the ABI than is known here.
    """
    if not mangled.startswith("_Z"):
        return ""
    try:
        return _Reader(mangled[2:].removeprefix("L")).name()
    except (_Unknown, IndexError, ValueError):
        return ""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def name(self) -> str:
        """<nested-name> ::= N <part>+ E, or one part; ABI 5.1.2."""
        if not self._skip("N"):
            return self._part()
        parts: list[str] = []
        while not self._skip("E"):
            if self._peek() == "I":
                parts[-1] += self._template_arguments()
            else:
                parts.append(self._part())
        return "::".join(parts)

    def _source_name(self) -> str:
        """<number> <identifier> of so many characters, ABI 5.1.3."""
        digits = re.compile(r"\d+").match(self._text, self._at)
        if digits is None:
            raise _Unknown
        start = digits.end()
        self._at = start + int(digits[0])
        if self._at > len(self._text):
            raise _Unknown
        return self._text[start : self._at]

    def _part(self) -> str:
        self._skip("L")
        word = self._source_name()
        while self._skip("B"):  # ABI tags, in which Numba writes how it compiles a function
            self._source_name()
        if word.startswith("_GLOBAL__N_"):
            word = "(anonymous namespace)"
        if self._peek() == "I":
            word += self._template_arguments()
        return word

    def _template_arguments(self) -> str:
        self._at += 1
        arguments = []
        while not self._skip("E"):
            arguments.append(self._literal() if self._skip("L") else self._type())
        return f"<{', '.join(arguments)}>"

    def _literal(self) -> str:
        """L <type> <number> E, ABI 5.1.6; a negative number begins with `n`."""
        kind = self._type()
        negative = "-" if self._skip("n") else ""
        digits = re.compile(r"\d+").match(self._text, self._at)
        if digits is None:
            raise _Unknown
        self._at = digits.end()
        if not self._skip("E"):
            raise _Unknown
        if kind == "bool":
            return "true" if digits[0] == "1" else "false"
        return negative + digits[0]

    def _type(self) -> str:
        if self._skip("P"):
            return f"{self._type()}*"
        if self._skip("K"):
            return f"const {self._type()}"
        letter = self._peek()
        if letter in _BUILTIN:
            self._at += 1
            return _BUILTIN[letter]
        if letter == "N" or letter.isdigit():
            return self.name()
        raise _Unknown

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _skip(self, letter: str) -> bool:
        if self._peek() != letter:
            return False
        self._at += 1
        return True
