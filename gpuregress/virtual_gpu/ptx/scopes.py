"""Lexical scopes of names in nested `{ }`.

PTX ISA manual, 4.2 and 6: a block hides names of the one around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ELEMENTS = "xyzw"
"""The names of a vector register's elements; `r`, `g`, `b`, `a` are the same."""

_SPECIAL_VECTORS = dict.fromkeys(
    ("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"), 4
)


@dataclass
class _Scope:
    names: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class Scopes:
    """Names of registers, variables and labels, made unique within their function."""

    def __init__(self) -> None:
        self._stack = [_Scope()]
        self._used: set[str] = set()
        self._registers: set[str] = set()
        self._vectors: dict[str, int] = {}

    def enter(self, labels: set[str]) -> None:
        """Open a scope with these labels."""
        self._stack.append(_Scope(labels={name: self._unique(name) for name in sorted(labels)}))

    def leave(self) -> None:
        """Close the innermost scope."""
        self._stack.pop()

    def declare(self, name: str, *, is_register: bool, suffix: str = "") -> str:
        """Declare a name in the innermost scope; return the unique name, which has the suffix."""
        unique = self._unique(name + suffix)
        self._stack[-1].names[name] = unique
        if is_register:
            self._registers.add(unique)
        return unique

    def declare_register(self, name: str, lanes: int) -> tuple[str, ...]:
        """Declare a register in the innermost scope; return its unique name, or those of a vector's elements."""
        unique = self.declare(name, is_register=True)
        if lanes == 1:
            return (unique,)
        self._vectors[unique] = lanes
        return self.elements(unique)

    def elements(self, unique: str) -> tuple[str, ...]:
        """The registers that are the elements of a vector register; none: it is no such register."""
        lanes = self._vectors.get(unique) or _SPECIAL_VECTORS.get(unique)
        return tuple(f"{unique}.{letter}" for letter in ELEMENTS[:lanes]) if lanes else ()

    def resolve(self, name: str) -> str:
        """The unique name of a visible name; names of the module are unique already."""
        for scope in reversed(self._stack):
            if name in scope.names:
                return scope.names[name]
        return name

    def label(self, name: str) -> str:
        """The unique name of a label."""
        for scope in reversed(self._stack):
            if name in scope.labels:
                return scope.labels[name]
        return name

    def has_label(self, name: str) -> bool:
        """Whether a label of this name is visible."""
        return any(name in scope.labels for scope in self._stack)

    def is_register(self, unique: str) -> bool:
        """Whether a unique name is a register: a declared one, or a special one (`%tid.x`)."""
        return unique in self._registers or unique.startswith("%")

    def is_declared(self, unique: str) -> bool:
        """Whether a unique name is a register that the function declares."""
        return unique in self._registers

    def _unique(self, name: str) -> str:
        unique, count = name, 1
        while unique in self._used:
            count += 1
            unique = f"{name}@{count}"
        self._used.add(unique)
        return unique
