"""Reachability of declarations from device code: what NVRTC needs, and what is the host's alone.

Kernels, device functions and variables are the roots. A type, a constant or an alias stays if they name it, directly or
through another that stays. Host functions and variables never stay. So only host code goes: what device code could use
without it is not legal CUDA.

Device code cannot call a host function, but it can depend on its declaration: a constructor changes a class's layout,
and `decltype` asks what a call would return. Of such functions the declaration stays, without the body.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from gpuregress.gpu.records import Record
from gpuregress.toolchain.host_code import declarations
from gpuregress.toolchain.host_code.declarations import Declared, View
from gpuregress.toolchain.host_code.preprocessing import WORD, Macros

ANNOTATION = "__host__ __device__ "
"""Put before a `constexpr` function, which device code may call (nvcc --expt-relaxed-constexpr)."""

KNOWN_NAMESPACES = frozenset(
    ("std", "cooperative_groups", "nvcuda", "wmma", "cuda", "thrust", "cub", "at", "torch", "c10", "DirectX")
)
"""Those of the compiler's own headers and of the shims."""

_TYPE_WORDS = re.compile(r"\b(?:struct|class|union|enum|using|typedef|constexpr)\b|\btemplate\s*<")
_TEMPLATE = re.compile(r"\btemplate\b")
_CONSTANT = re.compile(r"\bconst(?:expr|eval|init)?\b")
_CONSTEXPR = re.compile(r"\bconst(?:expr|eval)\b")
_VIRTUAL = re.compile(r"\b(?:virtual|override|final)\b|=\s*0\s*;")
_KERNEL = re.compile(r"\b__global__\b")
_EMPTY = re.compile(r"\{\s*\}\s*;?")
"""A body with which a constructor is one that nvcc allows for variables in the device's memory."""
_SPECIAL = re.compile(r"~|\boperator\b")
_TEMPLATE_ARGUMENTS = re.compile(r"<.*>", re.DOTALL)
_SPECIALIZATION = re.compile(
    r"\btemplate\b[^;{}]*\b(?:class|struct|union)\s+(?:\w+(?:\([^()]*\))?\s+)*(?:\w+\s*::\s*)*\w+\s*<"
)
_BASES = re.compile(r"(?<!:):(?!:)")
_STATIC = re.compile(r"\bstatic\b")
_PARENTHESIS = re.compile(r"[()]")
_HOST_BODY = "{ __trap(); }"
"""The body of a virtual function of the host, which no device code may call, where its own does not compile."""
_HOST_TYPE = "gpuregress_host_type"
"""Parameter of a constructor whose own parameters are the host's: without one, the class might be an aggregate."""
_FRIEND = re.compile(r"\bfriend\b")
_DEDUCED = re.compile(r"\bauto\b(?!.*->)", re.DOTALL)
_UNEVALUATED = re.compile(r"\b(?:decltype|sizeof|noexcept|alignof|requires)\b")


class Edits(Record):
    """Changes of one view.

    Attributes:
        removed: spans that go.
        annotated: offsets where an annotation is missing.
        kept: spans of device code.
        inserted: offsets and texts: what ends a declaration whose body goes, or stands for a constructor.
    """

    removed: tuple[tuple[int, int], ...]
    annotated: tuple[int, ...]
    kept: tuple[tuple[int, int], ...]
    inserted: tuple[tuple[int, str], ...] = ()


@dataclass(eq=False, slots=True)
class _Changes:
    """Edits while they are collected."""

    removed: list[tuple[int, int]] = field(default_factory=list)
    annotated: list[int] = field(default_factory=list)
    kept: list[tuple[int, int]] = field(default_factory=list)
    inserted: list[tuple[int, str]] = field(default_factory=list)

    def declare(self, declared: Declared, code: str) -> None:
        """Let a host function's declaration stay, with its body where that is empty or decides the type."""
        self.annotated.append(declared.specifiers)
        is_empty = _EMPTY.fullmatch(code, declared.head_end, declared.end) is not None
        if declared.is_body and not is_empty and not _DEDUCED.search(declared.head):
            self.inserted.append((declared.head_end, ";"))
            self.removed.append((declared.head_end, declared.end))

    def edits(self, device: Sequence[tuple[int, int]]) -> Edits:
        """Return the edits outside of device code: what the grammar found within it is no declaration."""
        starts = [start for start, _ in device]

        def is_outside(at: int) -> bool:
            number = bisect_left(starts, at) - 1
            return number < 0 or device[number][1] <= at

        return Edits(
            removed=tuple((start, end) for start, end in self.removed if is_outside(start) and is_outside(end)),
            annotated=tuple(filter(is_outside, self.annotated)),
            kept=tuple(self.kept),
            inserted=tuple((at, text) for at, text in self.inserted if is_outside(at)),
        )


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
        self._namespaces = set(KNOWN_NAMESPACES)
        self._all: list[_Candidate] = []
        self._of_views: defaultdict[tuple[int, int], list[_Candidate]] = defaultdict(list)
        self._functions: set[str] = set()
        self._types: set[str] = set()
        for file, views in enumerate(files):
            for number, view in enumerate(views):
                self._namespaces |= view.namespaces
                for declared in view.declarations:
                    candidate = _Candidate(file, number, declared, view.bare)
                    self._all.append(candidate)
                    self._of_views[file, number].append(candidate)
                    if declared.is_device:
                        self._functions.update(declared.names)
                    if declared.kind != "function":
                        self._types.update(declared.names)
        self._by_name: defaultdict[str, list[_Candidate]] = defaultdict(list)
        self.reached: set[str] = set()
        self._unevaluated: set[str] = set()
        self._expands_to_functions = cache(lambda name: declarations.expands_to_functions(name, macros))

    def edits(self, named: Collection[str]) -> list[list[Edits]]:
        pending = list(named)
        for candidate in self._all:
            if self._is_candidate(candidate.declared):
                for name in candidate.declared.names:
                    self._by_name[name].append(candidate)
            if self._is_root(candidate):
                candidate.stays = True
                if candidate.declared.kind != "namespace":
                    pending += self._words(candidate)
        self._reach(pending)
        while True:
            asked_about = [one for one in self._all if not one.stays and self._is_asked_about(one)]
            if not asked_about:
                break
            for candidate in asked_about:
                candidate.stays = True
                self._reach(list(self._words(candidate)))
        return [[self._of_view(file, number) for number in range(len(views))] for file, views in enumerate(self._files)]

    def _reach(self, pending: list[str]) -> None:
        while pending:
            word = pending.pop()
            if word in self.reached:
                continue
            self.reached.add(word)
            for macro in self._macros.named.get(word, ()):
                pending += self._read(macro.body)
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
        if not self._macros.annotations.isdisjoint(WORD.findall(declared.head)):  # also `FOR_TYPES(KERNEL)`
            return True
        if declarations.expands_to_host_functions(name, self._macros):
            return False
        for body in self._macros.bodies(name):
            if _TYPE_WORDS.search(body):
                return True
            if _TEMPLATE.search(body) and not self._functions.isdisjoint(WORD.findall(body)):
                return True
        return False

    def _is_candidate(self, declared: Declared) -> bool:
        """Tell whether a declaration that is no root can be what device code needs."""
        if declared.kind in ("alias", "enum", "class"):
            return True
        if declared.kind == "variable":
            return _CONSTANT.search(declared.head) is not None
        return declared.kind == "function" and self._is_constexpr(declared)

    def _is_constexpr(self, declared: Declared) -> bool:
        words = WORD.findall(declared.head)
        return any(_CONSTEXPR.fullmatch(word) or word in self._macros.constants for word in words)

    def _is_asked_about(self, one: _Candidate) -> bool:
        """Tell whether an operand that is not evaluated, as of `decltype`, names a host function."""
        declared = one.declared
        if declared.kind not in ("function", "prototype") or (one.file, declared.start) in self._dropped:
            return False
        if self._unevaluated.isdisjoint(declared.names) or _FRIEND.search(declared.head):
            return False
        return not any(re.search(rf"::\s*~?{re.escape(name)}\b", declared.head) for name in declared.names)

    def _read(self, text: str) -> tuple[str, ...]:
        """List the words of a text, and note those of operands that are not evaluated."""
        words, unevaluated = _words_in(text)
        self._unevaluated |= unevaluated
        return words

    def _words(self, candidate: _Candidate) -> Iterator[str]:
        """List the words of a declaration, without those of a class's members that may go."""
        declared = candidate.declared
        last = declared.end
        if self._has_name_alone(candidate):
            yield from self._read(candidate.code[declared.start : declared.head_end])
            return
        if declared.is_body and not (declared.is_device or self._is_constexpr(declared)):  # the body may go
            last = declared.end if _DEDUCED.search(declared.head) else declared.head_end
        at = declared.start
        for start, end in sorted(_without_inner(self._host_members(declared))):
            yield from self._read(candidate.code[at:start])
            at = end
        yield from self._read(candidate.code[at:last])

    def _host_members(self, declared: Declared) -> Iterator[tuple[int, int]]:
        for one in declared.members:
            if one.kind == "class":
                yield from self._host_members(one)
            elif is_host_member(one) and not self._is_annotated(one):
                yield one.start, one.end

    def _of_view(self, file: int, number: int) -> Edits:
        changes = _Changes()
        for one in self._of_views[file, number]:
            declared = one.declared
            if not one.stays or (file, declared.start) in self._dropped:
                if declared.kind != "assertion" and not _KERNEL.search(one.code, declared.start, declared.end):
                    changes.removed.append((declared.start, declared.end))
            elif self._has_name_alone(one):
                at = end_of_specialization(declared, one.code) or declared.head_end
                changes.removed.append((at, declared.end))
                changes.inserted.append((at, ";"))
            elif declared.kind == "class":
                self._edit_members(file, declared, one.code, changes)
                changes.kept += [(member.start, member.end) for member in declared.members if member.is_device]
            elif declared.is_device:
                changes.kept.append((declared.start, declared.end))
            elif declared.kind == "function" and self._is_constexpr(declared):
                changes.annotated.append(declared.specifiers)
            elif declared.kind in ("function", "prototype"):
                changes.declare(declared, one.code)
        return changes.edits(self._files[file][number].device)

    def _has_name_alone(self, one: _Candidate) -> bool:
        """Tell whether a specialization lost its body."""
        return bool(self._dropped) and (one.file, end_of_specialization(one.declared, one.code)) in self._dropped

    def _edit_members(self, file: int, declared: Declared, code: str, changes: _Changes) -> None:
        """Change the members of a class that lack an annotation."""
        for member in declared.members:
            if member.kind == "class":
                self._edit_members(file, member, code, changes)
            is_call = member.kind == "macro" and not member.is_device
            if _is_static_variable(member) or (is_call and all(map(self._expands_to_functions, member.names))):
                changes.removed.append((member.start, member.end))
            if not is_host_member(member):
                continue
            is_dropped = (file, member.start) in self._dropped
            if self._is_annotated(member) and not is_dropped:
                changes.annotated.append(member.specifiers)
                if (file, member.head_end) in self._dropped:
                    changes.removed.append((member.head_end, member.end))
                    changes.inserted.append((member.head_end, _HOST_BODY))
                continue
            if not is_dropped and self._stays(member, declared):
                changes.declare(member, code)
                continue
            changes.removed.append((member.start, member.end))
            constructors = [name for name in member.names if name in declared.names]
            if constructors and "~" not in member.head:
                text = f"{ANNOTATION}{constructors[0]}(struct {_HOST_TYPE}_{member.start}*);"
                changes.inserted.append((member.start, text))

    def _is_annotated(self, member: Declared) -> bool:
        return self._is_constexpr(member) or _VIRTUAL.search(member.head) is not None

    def _stays(self, member: Declared, declared: Declared) -> bool:
        """Tell whether device code can depend on a host member's declaration, whose types it must know."""
        if _FRIEND.search(member.head) or not self._macros.named.keys().isdisjoint(member.names):
            return False
        is_special = not set(member.names).isdisjoint(declared.names) or _SPECIAL.search(member.head)
        if not is_special and self.reached.isdisjoint(member.names):
            return False
        words = set(WORD.findall(member.head)) - set(member.names) - set(declared.names)
        return not (words & self._types) - self.reached and ("std" not in words or "std" in self.reached)


@lru_cache(maxsize=1 << 14)
def _words_in(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """List the words of a text, and those of operands that are not evaluated."""
    unevaluated: set[str] = set()
    for match in _UNEVALUATED.finditer(text):
        unevaluated.update(WORD.findall(_operand(text, match)))
    return tuple(dict.fromkeys(WORD.findall(text))), frozenset(unevaluated)


def parts_to_drop(member: Declared) -> tuple[int, ...]:
    """Return the offsets of what can go of a host member: of a virtual function first its body, then all of it.

    Without the function, a class that overrides it would be abstract.
    """
    if member.is_body and _VIRTUAL.search(member.head) is not None:
        return member.head_end, member.start
    return (member.start,)


def end_of_specialization(declared: Declared, code: str) -> int | None:
    """Return where the base classes or the body of a template's specialization begin; None for all else.

    Without the specialization, device code would get the primary template. Without its body, the compiler refuses that.
    """
    if declared.kind != "class" or declared.head_end == declared.end:
        return None
    name = _SPECIALIZATION.search(code, declared.start, declared.head_end)
    if name is None:
        return None
    bases = _BASES.search(code, name.end(), declared.head_end)
    return declared.head_end if bases is None else bases.start()


def is_host_member(member: Declared) -> bool:
    """Tell whether a member of a class is a function without an annotation, and no defaulted one."""
    if member.is_device or member.kind not in ("function", "prototype"):
        return False
    if member.head.count("(") != member.head.count(")"):
        return False  # a macro's call with braces among its arguments
    if member.kind == "prototype":
        return "(" in member.head  # else `friend class S;`
    return member.is_body or _VIRTUAL.search(member.head) is not None


def _is_static_variable(member: Declared) -> bool:
    if member.kind != "variable" or member.is_device:
        return False
    if _STATIC.search(member.head) is None or _CONSTEXPR.search(member.head) is not None:
        return False
    declarator = _TEMPLATE_ARGUMENTS.sub("", member.head.partition("=")[0])
    return _CONSTANT.search(declarator.rpartition("*")[2]) is None  # `static const char* name;` is no constant


def _is_device(declared: Declared) -> bool:
    return declared.is_device or any(_is_device(one) for one in declared.members)


def _operand(text: str, match: re.Match[str]) -> str:
    """What stands in parentheses after `decltype`; of `requires` and `sizeof x`, all that follows."""
    start = match.end()
    if match[0] == "requires" or not text[start:].lstrip().startswith("("):
        return text[start:]
    depth = 0
    for one in _PARENTHESIS.finditer(text, start):
        depth += 1 if one[0] == "(" else -1
        if depth == 0:
            return text[start : one.end()]
    return text[start:]


def _without_inner(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last = 0
    for start, end in sorted(spans):
        if start >= last:
            yield start, end
            last = end
