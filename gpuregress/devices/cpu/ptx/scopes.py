"""What a name means inside nested `{ }`. PTX ISA manual, 4.2 and 6: a block hides names of the one around it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class _Scope:
    names: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class Scopes:
    """Gives every register, variable and label a name that is unique within its function."""

    def __init__(self) -> None:
        self._stack = [_Scope()]
        self._used: set[str] = set()
        self._registers: set[str] = set()

    def enter(self, labels: set[str]) -> None:
        """Starts a block that holds these labels."""
        self._stack.append(_Scope(labels={name: self._unique(name) for name in sorted(labels)}))

    def leave(self) -> None:
        """Ends the innermost block."""
        self._stack.pop()

    def declare(self, name: str, *, is_register: bool) -> str:
        """Declares a name in the innermost block; gives the unique one."""
        unique = self._unique(name)
        self._stack[-1].names[name] = unique
        if is_register:
            self._registers.add(unique)
        return unique

    def resolve(self, name: str) -> str:
        """The unique name that a name stands for here; names of the module stay as they are."""
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

    def is_register(self, unique: str) -> bool:
        """Whether a unique name is a register: a declared one, or a special one (`%tid.x`)."""
        return unique in self._registers or unique.startswith("%")

    def _unique(self, name: str) -> str:
        unique, count = name, 1
        while unique in self._used:
            count += 1
            unique = f"{name}@{count}"
        self._used.add(unique)
        return unique
