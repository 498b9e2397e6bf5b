"""Reachability of declarations from device code: what NVRTC needs, and what is the host's alone.

Kernels, device functions and variables are the roots. A type, a constant or an alias stays if they name it, directly or
through another that stays. Host functions and variables never stay. So only host code goes: what device code could use
without it is not legal CUDA.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from gpuregress.frozen import dataclass
from gpuregress.toolchain.host_code.declarations import Declared, View
from gpuregress.toolchain.host_code.preprocessing import WORD, Macros, without_strings

ANNOTATION = "__host__ __device__ "
"""Put before a `constexpr` function, which device code may call (nvcc --expt-relaxed-constexpr)."""

_NAMESPACES = frozenset(
    ("std", "cooperative_groups", "nvcuda", "wmma", "cuda", "thrust", "cub", "at", "torch", "c10", "DirectX")
)
_TYPE_WORDS = re.compile(r"\b(?:struct|class|union|enum|using|typedef|constexpr|template)\b")
_CONSTANT = re.compile(r"\bconst(?:expr|eval|init)?\b")
_CONSTEXPR = re.compile(r"\bconst(?:expr|eval)\b")
_VIRTUAL = re.compile(r"\b(?:virtual|override|final)\b|=\s*0\s*;")
_KERNEL = re.compile(r"\b__global__\b")


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes of one view: spans that go, and where an annotation is missing."""

    removed: tuple[tuple[int, int], ...]
    annotated: tuple[int, ...]
    kept: tuple[tuple[int, int], ...]


@dataclass(eq=False, slots=True)
class _Candidate:
    """A declaration that stays if device code reaches it."""

    file: int
    view: int
    declared: Declared
    code: str
    stays: bool = False


def select(
    files: Sequence[Sequence[View]],
    macros: Macros,
    named: Collection[str],
    dropped: Collection[tuple[int, int]] = (),
) -> tuple[list[list[Edits]], frozenset[str]]:
    """Choose what stays of the declarations of a source and the files that it includes.

    Args:
        files: the views of each.
        macros: of all of them.
        named: words of what a job asks for: its kernels with template arguments, its variables.
        dropped: files and offsets of declarations that NVRTC refused, and which are not device code.

    Returns:
        The edits of each view of each file, and the words of what stays.
    """
    selection = _Selection(files, macros, set(dropped))
    return selection.edits(named), frozenset(selection.reached)


class _Selection:
    """The search from the roots."""

    def __init__(self, files: Sequence[Sequence[View]], macros: Macros, dropped: set[tuple[int, int]]) -> None:
        self._files, self._macros, self._dropped = files, macros, dropped
        self._namespaces = _NAMESPACES.union(*(view.namespaces for views in files for view in views))
        self._all = [
            _Candidate(file, number, declared, view.code)
            for file, views in enumerate(files)
            for number, view in enumerate(views)
            for declared in view.declarations
        ]
        self._by_name: defaultdict[str, list[_Candidate]] = defaultdict(list)
        self.reached: set[str] = set()
        self._functions = {name for one in self._all if one.declared.is_device for name in one.declared.names}

    def edits(self, named: Collection[str]) -> list[list[Edits]]:
        for one in self._all:
            if self._is_candidate(one.declared):
                for name in one.declared.names:
                    self._by_name[name].append(one)
        pending = list(named)
        for one in self._all:
            if self._is_root(one):
                one.stays = True
                pending += self._words(one) if one.declared.kind != "namespace" else ()
        self._reach(pending)
        return [[self._of_view(file, number) for number in range(len(views))] for file, views in enumerate(self._files)]

    def _reach(self, pending: list[str]) -> None:
        while pending:
            word = pending.pop()
            if word in self.reached:
                continue
            self.reached.add(word)
            pending += self._macros.words(word)
            for one in self._by_name.get(word, ()):
                if not one.stays:
                    one.stays = True
                    pending += self._words(one)

    def _is_root(self, one: _Candidate) -> bool:
        declared = one.declared
        if (one.file, declared.start) in self._dropped:
            return False
        if declared.kind == "namespace":
            return not declared.names or declared.names[0] in self._namespaces
        if declared.kind == "macro":
            return self._declares(declared)
        if declared.kind == "instantiation":
            return declared.is_device or bool(self._functions & set(declared.names))
        return declared.is_device or declared.kind == "assertion" or any(_is_device(one) for one in declared.members)

    def _declares(self, declared: Declared) -> bool:
        """Tell whether a macro's call declares device code, types or constants; no macro known: it is the host's."""
        name = declared.names[0] if declared.names else ""
        if name in self._macros.annotations:
            return True
        bodies = " ".join(macro.body for macro in self._macros.named.get(name, ()))
        return _TYPE_WORDS.search(bodies) is not None

    def _is_candidate(self, declared: Declared) -> bool:
        """Tell whether a declaration that is no root can be what device code needs."""
        if declared.kind in ("alias", "enum", "class"):
            return True
        if declared.kind == "variable":
            return _CONSTANT.search(declared.head) is not None
        return declared.kind == "function" and _CONSTEXPR.search(declared.head) is not None

    def _words(self, one: _Candidate) -> Iterator[str]:
        """List the words of a declaration, without those of a class's members that go."""
        at = one.declared.start
        for start, end in sorted(_without_inner(_member_edits(one.declared)[0])):
            yield from WORD.findall(without_strings(one.code[at:start]))
            at = end
        yield from WORD.findall(without_strings(one.code[at : one.declared.end]))

    def _of_view(self, file: int, number: int) -> Edits:
        removed: list[tuple[int, int]] = []
        annotated: list[int] = []
        kept: list[tuple[int, int]] = []
        for one in self._all:
            if (one.file, one.view) != (file, number):
                continue
            declared = one.declared
            if not one.stays or (file, declared.start) in self._dropped:
                if declared.kind != "assertion" and not _KERNEL.search(one.code, declared.start, declared.end):
                    removed.append((declared.start, declared.end))
            elif declared.kind == "class":
                gone, missing = _member_edits(declared)
                removed += gone
                annotated += missing
                kept += [(member.start, member.end) for member in declared.members if member.is_device]
            elif declared.is_device:
                kept.append((declared.start, declared.end))
            elif declared.kind == "function":
                annotated.append(declared.specifiers)
        return Edits(tuple(removed), tuple(annotated), tuple(kept))


def _is_device(declared: Declared) -> bool:
    return declared.is_device or any(_is_device(one) for one in declared.members)


def _member_edits(declared: Declared) -> tuple[list[tuple[int, int]], list[int]]:
    """The members of a class that are the host's, and those which lack an annotation."""
    removed: list[tuple[int, int]] = []
    annotated: list[int] = []
    for one in declared.members:
        if one.kind == "class":
            gone, missing = _member_edits(one)
            removed += gone
            annotated += missing
        if one.is_device or one.kind not in ("function", "prototype") or not (one.is_body or one.kind == "prototype"):
            continue
        if one.kind == "prototype" and "(" not in one.head:
            continue  # friend class S;
        if _CONSTEXPR.search(one.head) or _VIRTUAL.search(one.head):
            annotated.append(one.specifiers)
        else:
            removed.append((one.start, one.end))
    return removed, annotated


def _without_inner(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last = 0
    for start, end in sorted(spans):
        if start >= last:
            yield start, end
            last = end
