"""Translation unit of a source without host code: its text, and those of the files that it includes.

NVRTC takes the included files that changed as texts. It finds those by the name of the directive only, so the name is
made the file's path there. A file that includes such a file is a text, too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

from gpuregress.gpu.records import Record
from gpuregress.toolchain import include_scanner
from gpuregress.toolchain.headers import host_headers, virtual_headers
from gpuregress.toolchain.host_code import declarations, macro_calls, reachability
from gpuregress.toolchain.host_code.declarations import Declared, View
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText, Macro, Macros, spaces
from gpuregress.toolchain.host_code.reachability import ANNOTATION, Edits

_MANY_FILES = 40
"""A source with more project headers uses a library of templates, which most often NVRTC compiles as it is."""

_MOST_PARSED = 256
"""Files whose trees are kept."""

_MOST_PROBED = 4
"""Headers of a large library that are parsed in search of host code."""

_HOST_FUNCTION = re.compile(
    r"^[ \t]*(?:inline|static|std::\w+)\b[^;{}()=#\[\]]*\([^;{}]*\)\s*(?:const\s*)?\{", re.MULTILINE
)
_MACRO = re.compile(r"\b(?:[A-Z][A-Z0-9_]{2,}|_\w+|constexpr|consteval)\b")
"""What in a function's head may be or mean an annotation."""

_BEFORE_TYPE = re.compile(
    r"(?:\A|[(,<;{}=]|(?<!:):(?!:)|\busing(?=\s+\w+\s*::)"
    r"|\b(?:const|volatile|public|private|protected|virtual|static|inline|extern|mutable|typedef))"
    r"\s*(?:(?:\b\w+\s*::\s*)*\b(?P<scope>[A-Za-z_]\w*)\s*::\s*)?\Z"
)
"""What stands before a type, and before no other name, as that of a template's parameter."""
_MOST_BEFORE_TYPE = 80
_INHERITED = re.compile(r"\busing\b.*\b(\w+)\s*(?:<[^;]*>)?\s*::\s*\1\s*;?\s*\Z", re.DOTALL)
"""Constructors of a base class, which have the name of that class."""

Scope = tuple[str, ...]
"""The names of the namespaces around a declaration, the outer ones first."""

_ALONE = re.compile(r"^[ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*\([^;{}\n]*\)[ \t]*$", re.MULTILINE)
_TYPE = re.compile(r"\b(?:class|enum|struct|union)\b[^;{}]*\{")
_NAME = re.compile(r'(\s*)(?:"([^"\n]*)"|<([^>\n]*)>)')


class TranslationUnit(Record):
    """Texts for the compiler.

    Attributes:
        text: of the source.
        headers: path → text of the included files that differ from what is on disk.
        missing: names of headers that are no file of the project.
        uses_library: whether a name of C++'s library may be in the texts.
    """

    text: str
    headers: Mapping[str, str]
    missing: tuple[str, ...]
    uses_library: bool = True


class _Include(Record):
    """A header that a text includes: the span of its name with the brackets; `path` is None outside the project."""

    name: str
    start: int
    end: int
    path: Path | None


class UnitBuilder:
    """A source and its included files, parsed once for all attempts to compile them.

    Args:
        files: the source, then every file of the project that it may include.
        texts: what they hold.
        folders: those that the compiler searches, in its order.
        named: words of what a job asks for.
        shims: headers whose macros the sources may use.
        keeps: whether the host code stays.
    """

    def __init__(
        self,
        files: Sequence[Path],
        texts: Sequence[str],
        folders: Sequence[Path],
        named: Collection[str],
        shims: Sequence[str] = (),
        *,
        keeps: bool = False,
    ) -> None:
        self._files, self._folders, self._named = tuple(files), tuple(folders), tuple(named)
        self._paths = [file.resolve() for file in self._files]
        self._texts = [_text_of(text) for text in texts]
        self._macros = _macros_in(tuple(self._texts), tuple(shims))
        self._keeps = keeps
        self._views: list[tuple[View, ...]] = [() for _ in self._texts]
        pairs = zip(self._texts, self._files, strict=True)
        self._included = [self._targets(text, file.parent) for text, file in pairs]
        self._dropped: set[tuple[int, int]] = set()
        self._withholds = self._is_refused = False
        self._unit: TranslationUnit | None = None
        self._is_begun = keeps
        self._is_partial = False

    def _begin(self) -> None:
        """Parse the files, or first the source alone."""
        if self._is_begun:
            return
        self._is_begun = True
        self._is_partial = len(self._texts) > _MANY_FILES and not self._includes_host_code()
        self._parse(1 if self._is_partial else len(self._texts))

    def unit(self) -> TranslationUnit:
        """Return the texts without host code."""
        self._begin()
        if self._unit is None:
            self._unit = self._without_host_code()
        return self._unit

    def _without_host_code(self) -> TranslationUnit:
        if self._keeps:
            texts, changed = self._given([[] for _ in self._texts])
            headers = {str(self._paths[number]): texts[number] for number in sorted(changed)}
            return TranslationUnit(texts[0], headers, self._missing())
        edits, reached = reachability.select(self._views, self._macros, self._named, self._dropped)
        changes: list[list[Replacement]] = []
        for text, views, edits_of_views in zip(self._texts, self._views, edits, strict=True):
            changes.append(replacements(text, views, edits_of_views, self._macros))
        texts, changed = self._given(changes)
        headers = {str(self._paths[number]): texts[number] for number in sorted(changed)}
        needs = self._is_partial or host_headers.use_library(reached, texts)
        self._withholds = not needs and not virtual_headers.LIBRARY.isdisjoint(self._missing())
        return TranslationUnit(texts[0], headers, self._missing(), not self._withholds or self._is_refused)

    def directives(self) -> TranslationUnit:
        """Return the texts with nothing but their directives."""
        changes = [[*_without_code(text), *_conditions_on_nvcc(text)] for text in self._texts]
        texts, changed = self._given(changes)
        headers = {str(self._paths[number]): texts[number] for number in sorted(changed)}
        return TranslationUnit(texts[0], headers, self._missing())

    def _given(self, changes: Sequence[Sequence[Replacement]]) -> tuple[list[str], set[int]]:
        """Apply changes to the files; return all texts, and the numbers of the included files that differ from disk.

        NVRTC takes a header that it is given as text before any file of this name, also before one beside the file
        that includes it. Such a file of the project is named by its path.
        """
        taken = {*self._missing(), *virtual_headers.virtual_headers(self._folders)}
        hidden: set[Path] = set()
        for targets in self._included:
            hidden.update(target.path for target in targets if target.path is not None and target.name in taken)
        changed = self._changed(changes, hidden)
        paths = hidden | {self._paths[number] for number in changed}
        texts: list[str] = []
        for number, text in enumerate(self._texts):
            renamed: list[Replacement] = []
            if number in changed or number == 0:
                renamed = _renamed(self._included[number], paths, is_text=number in changed)
            texts.append(replaced(text.text, [*changes[number], *renamed]))
        return texts, changed

    @property
    def is_partial(self) -> bool:
        """Whether the headers are not parsed, so that their host code is still there."""
        self._begin()
        return self._is_partial

    @property
    def withholds_library(self) -> bool:
        """Whether the last unit lacks C++'s library, because it seemed not to be used."""
        return self._withholds and not self._is_refused

    def missing_header(self, is_absent: Callable[[str], bool]) -> str:
        """Return the header at which the compiler surely stops, because nothing has it; "" where none is sure.

        Args:
            is_absent: tells whether no header of this name is given to the compiler, nor one of its own.
        """
        numbers = {path: number for number, path in enumerate(self._paths)}
        pending = [(0, True, target) for target in reversed(self._included[0])]
        reached = {0}
        while pending:  # in the order in which the compiler reads them
            number, is_certain, target = pending.pop()
            is_certain = is_certain and self._texts[number].is_certain(target.start)
            if target.path is None:
                if is_absent(target.name):
                    return target.name if is_certain else ""
                continue
            inner = numbers.get(target.path)
            if inner is not None and inner not in reached:
                reached.add(inner)
                pending += [(inner, is_certain, one) for one in reversed(self._included[inner])]
        return ""

    def _missing(self) -> tuple[str, ...]:
        """The headers that are no file of the project."""
        missing: dict[str, None] = {}
        for targets in self._included:
            missing.update((target.name, None) for target in targets if target.path is None)
        return tuple(missing)

    def drop(self, errors: Collection[tuple[Path, int]]) -> bool:
        """Let go of declarations that are no device code and in which the compiler found errors.

        Many headers are parsed only now, and a library that seemed not to be used is there from now on. Where nothing
        can go, the macros in the line of an error are expanded: one may make kernels and functions of the host. One
        that makes a type and functions is expanded wherever it is called, because device code may need the type.

        Args:
            errors: files and lines.

        Returns:
            Whether there were any.
        """
        self._begin()
        may_lack = self.withholds_library
        self._is_refused = True
        if self._is_partial:
            self._unit = None
            self._is_partial = False
            self._parse(len(self._texts))
            return True
        wrong: set[tuple[int, int]] = set()
        making: set[str] = set()
        lines: dict[int, set[int]] = {}
        for file, line in errors:
            resolved = file.resolve()  # a directive may lead to `include/../a.h`, and the compiler is given `a.h`
            for number, path in enumerate(self._paths):
                if path != resolved:
                    continue
                starts: list[int] = []
                for view in self._views[number]:
                    for declared in view.declarations:
                        starts += self._host_code(number, declared, view, line)
                        if self._makes_type(declared) and _is_in(declared, view, line):
                            making.update(declared.names)
                wrong.update((number, start) for start in starts)
                if not starts:
                    lines.setdefault(number, set()).add(line)
        for number, line in self._calls_of(making):
            lines.setdefault(number, set()).add(line)
        new = wrong - self._dropped
        self._drop_with_dependents(new)
        expanded = [self._expand_macros(number, lines[number]) for number in lines]
        if not (new or may_lack or any(expanded)):
            expanded = [self._expand_macros(number, self._lines_of_calls(number)) for number in lines]
        is_changed = bool(new) or may_lack or any(expanded)
        if is_changed:
            self._unit = None
        return is_changed

    def _drop_with_dependents(self, declarations_of_files: set[tuple[int, int]]) -> None:
        """Drop declarations, and those that need one of them: the compiler would refuse these in the next attempt."""
        new = declarations_of_files
        while new:
            self._dropped |= new
            names = self._lost_types(new)
            new = self._dependents(names) - self._dropped if names else set()

    def _lost_types(self, dropped: Collection[tuple[int, int]]) -> dict[str, set[Scope]]:
        """Name the classes and aliases among declarations that no other text declares, with their namespaces."""
        lost: dict[str, set[Scope]] = {}
        others = {*self._macros.named, *reachability.KNOWN_NAMESPACES}
        for number, views in enumerate(self._views):
            for view in views:
                others |= view.namespaces
                for declared in view.declarations:
                    others.update(_names_of_members(declared))
                    if (number, declared.start) not in self._dropped:
                        others.update(declared.names)
                    elif (number, declared.start) in dropped and declared.kind in ("class", "alias"):
                        for name in declared.names:
                            lost.setdefault(name, set()).add(_scope(declared, view))
        return {name: scopes for name, scopes in lost.items() if name not in others}

    def _dependents(self, types: Mapping[str, set[Scope]]) -> set[tuple[int, int]]:
        """List the declarations, and the members of classes, that can go and need a type."""
        uses = {name: re.compile(rf"\b{re.escape(name)}\b") for name in types}
        dependents: set[tuple[int, int]] = set()
        for number, (text, views) in enumerate(zip(self._texts, self._views, strict=True)):
            for view in views:
                patterns = [(pattern, types[name]) for name, pattern in uses.items() if name in view.bare]
                for declared in view.declarations if patterns else ():
                    scope = _scope(declared, view)
                    for start, part in _kept_parts(declared, view, text).items():
                        if any(_needs(part, scope, *used) for used in patterns):
                            dependents.add((number, start))
        return dependents

    def _makes_type(self, declared: Declared) -> bool:
        """Tell whether a macro's call makes a type, and more that may be the host's; one definition is known."""
        definitions = self._macros.named.get(declared.names[0], ()) if declared.kind == "macro" else ()
        return len(set(definitions)) == 1 and _TYPE.search(definitions[0].body) is not None

    def _calls_of(self, names: Collection[str]) -> Iterator[tuple[int, int]]:
        """List the files and lines in which macros are called at namespace scope."""
        for number, views in enumerate(self._views if names else ()):
            for view in views:
                for declared in view.declarations:
                    if declared.kind == "macro" and not set(names).isdisjoint(declared.names):
                        yield number, view.code.count("\n", 0, declared.start) + 1

    def _lines_of_calls(self, number: int) -> set[int]:
        """The lines of a file in which a macro's call stands alone: the grammar may misread what follows it."""
        code = self._texts[number].code
        return {code.count("\n", 0, match.start()) + 1 for match in _ALONE.finditer(code)}

    def _expand_macros(self, number: int, lines: Collection[int]) -> bool:
        """Expand the macros in lines of a file that is parsed; tell whether there were any."""
        text = self._texts[number]
        expansions = macro_calls.expansions_in_lines(text, self._macros.named, lines) if self._views[number] else []
        if not expansions:
            return False
        moved: set[tuple[int, int]] = set()
        for file, start in self._dropped:
            before = [one for one in expansions if file == number and one.start < start]
            moved.add((file, start + sum(len(one.text) - (one.end - one.start) for one in before)))
        self._dropped = moved
        changes = [Replacement(one.start, one.end, one.text) for one in expansions]
        self._texts[number] = _text_of(replaced(text.text, changes))
        self._views[number] = self._parsed(self._texts[number])
        self._included[number] = self._targets(self._texts[number], self._files[number].parent)
        self._leave_fragments()
        return True

    def _host_code(self, number: int, declared: Declared, view: View, line: int) -> list[int]:
        """The offsets of what can go of a declaration in a line: its host members first, then all of it."""
        if not _is_in(declared, view, line) or self._makes_type(declared):
            return []
        starts: list[int] = []
        for member in _host_members(declared):
            if _is_in(member, view, line):
                parts = [part for part in reachability.parts_to_drop(member) if (number, part) not in self._dropped]
                starts += parts[:1]
        if not starts and (_can_go(declared) or _has_wrong_base(declared, view, line)):
            starts.append(self._part_to_drop(number, declared, view, line))
        return starts

    def _part_to_drop(self, number: int, declared: Declared, view: View, line: int) -> int:
        """The offset of what goes of a declaration: of a specialization its body first, if an error may be there."""
        body = reachability.end_of_specialization(declared, view.bare)
        if body is None or (number, body) in self._dropped:
            return declared.start
        starts = _line_starts(view.code)
        last = starts[line] if line < len(starts) else len(view.code)
        return body if view.bare[body:last].strip(" \t\r\n{") else declared.start

    def _parse(self, count: int) -> None:
        """Parse the first files, with the calls of macros expanded that declare classes with functions of the host."""
        for number in range(count):
            if self._views[number]:
                continue
            self._views[number] = self._parsed(self._texts[number])
            lines = self._lines_of_classes(number)
            if lines:
                self._expand_macros(number, lines)
        self._leave_fragments()

    def _parsed(self, text: CxxText) -> tuple[View, ...]:
        return _views_of(text, self._macros)

    def _lines_of_classes(self, number: int) -> set[int]:
        """The lines of a file in which a macro declares a class with functions of the host."""
        lines: set[int] = set()
        for view in self._views[number]:
            for declared in view.declarations:
                if declared.kind == "macro" and any(map(self._makes_host_members, declared.names)):
                    lines.add(view.code.count("\n", 0, declared.start) + 1)
        return lines

    def _makes_host_members(self, macro_name: str) -> bool:
        return _makes_host_members(macro_name, self._macros)

    def _includes_host_code(self) -> bool:
        """Tell whether the compiler will refuse a header for a function of the host, whatever the conditions are.

        Only headers that are included without a condition count, and only some of them are parsed for it.
        """
        numbers = {path: number for number, path in enumerate(self._paths)}
        pending = [0]
        included = {0}
        parsed = 0
        while pending:
            number = pending.pop(0)
            text = self._texts[number]
            if number and _may_have_host_code(text):
                if _has_host_functions(text, self._parsed(text)):
                    return True
                parsed += 1
                if parsed == _MOST_PROBED:
                    return False
            for target in self._included[number]:
                path_number = numbers.get(target.path) if target.path is not None else None
                if path_number is not None and path_number not in included and text.is_certain(target.start):
                    included.add(path_number)
                    pending.append(path_number)
        return False

    def _leave_fragments(self) -> None:
        """Leave files that are included within a declaration, and what they include: they hold no declarations."""
        numbers = {path: number for number, path in enumerate(self._paths)}
        pending: list[_Include] = []
        for views, targets in zip(self._views, self._included, strict=True):
            pending += [target for target in targets if any(_is_within(view, target.start) for view in views)]
        left: set[int] = set()
        while pending:
            path = pending.pop().path
            number = numbers.get(path) if path is not None else None
            if number and number not in left:
                left.add(number)
                self._views[number] = ()
                pending += self._included[number]

    def _changed(self, changes: Sequence[Sequence[Replacement]], hidden: Collection[Path]) -> set[int]:
        """The included files that are not given to the compiler as they are on disk.

        Args:
            changes: of each file.
            hidden: files that the compiler does not find by the names of their directives.
        """
        changed = {number for number, replacements in enumerate(changes) if number and replacements}
        while True:
            paths = {*hidden, *(self._paths[number] for number in changed)}
            more: set[int] = set()
            for number, targets in enumerate(self._included):
                if number and any(target.path in paths for target in targets):
                    more.add(number)
            if more <= changed:
                return changed
            changed |= more

    def _targets(self, text: CxxText, folder: Path) -> list[_Include]:
        targets: list[_Include] = []
        for directive in text.directives:
            match = _NAME.match(directive.rest) if directive.word == "include" else None
            if match is None:
                continue
            name = match[2] or match[3] or ""
            folders = self._folders if match[2] is None else (folder, *self._folders)
            path = include_scanner.find(name, folders)
            rest = directive.end - len(directive.rest)
            target = None if path == name else Path(path).resolve()
            targets.append(_Include(name, rest + len(match[1]), rest + match.end(), target))
        return targets


# A compiler's process gets a source once for each of its kernels: it is parsed once.


@lru_cache(maxsize=_MOST_PARSED)
def _text_of(text: str) -> CxxText:
    return CxxText(text)


@lru_cache(maxsize=4)
def _macros_of(shim: str) -> Mapping[str, tuple[Macro, ...]]:
    return CxxText(shim).macros


@lru_cache(maxsize=4)
def _macros_in(texts: tuple[CxxText, ...], shims: tuple[str, ...]) -> Macros:
    return Macros([*(text.macros for text in texts), *map(_macros_of, shims)])


@lru_cache(maxsize=_MOST_PARSED)
def _views_of(text: CxxText, macros: Macros) -> tuple[View, ...]:
    try:
        return declarations.views(text, macros)
    except RecursionError:  # nested a thousand times: the compiler may take it as it is
        return ()


@lru_cache(maxsize=_MOST_PARSED)
def _makes_host_members(macro_name: str, macros: Macros) -> bool:
    return declarations.makes_host_members(macro_name, macros)


@lru_cache(maxsize=_MOST_PARSED)
def _may_have_host_code(text: CxxText) -> bool:
    return any(_MACRO.search(match[0]) is None for match in _HOST_FUNCTION.finditer(text.code))


def _has_host_functions(text: CxxText, views: Sequence[View]) -> bool:
    """Tell whether a text has a function without annotation that no condition removes."""
    for view in views:
        for declared in view.declarations:
            is_host = declared.kind == "function" and declared.is_body and not declared.is_device
            if is_host and _MACRO.search(declared.head) is None and text.is_certain(declared.start):
                return True
    return False


def words(texts: Iterable[str]) -> list[str]:
    """List the words of what a job asks for."""
    return WORD.findall("\n".join(texts))


def _renamed(targets: Sequence[_Include], paths: Collection[Path], *, is_text: bool) -> list[Replacement]:
    """Put paths in place of the names of changed files; in a file that is given as text, of all files."""
    return [
        Replacement(one.start, one.end, f'"{one.path}"')
        for one in targets
        if one.path is not None and (is_text or one.path in paths)
    ]


def _is_within(view: View, offset: int) -> bool:
    if any(start < offset < end for start, end in view.device):
        return True
    return any(declared.start < offset < declared.end for declared in view.declarations)


def _can_go(declared: Declared) -> bool:
    if declared.is_device or declared.kind == "assertion":
        return False
    return not any(member.is_device for member in declared.members)


def _has_wrong_base(declared: Declared, view: View, line: int) -> bool:
    """Tell whether an error in a line is in the base classes of a class: it cannot be used, also by device code."""
    is_derived = declared.kind == "class" and re.search(r"[^:]:[^:]", declared.head) is not None
    return is_derived and line <= view.code.count("\n", 0, declared.head_end) + 1


def _is_in(declared: Declared, view: View, line: int) -> bool:
    starts = _line_starts(view.code)
    if line > len(starts):
        return False
    end = starts[line] if line < len(starts) else len(view.code) + 1
    return declared.start < end and starts[line - 1] <= declared.end


@lru_cache(maxsize=_MOST_PARSED)
def _line_starts(code: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in re.finditer("\n", code)))


def _names_of_members(declared: Declared) -> Iterator[str]:
    for member in declared.members:
        if member.kind not in ("function", "prototype") and not _INHERITED.search(member.head):
            yield from member.names
        yield from _names_of_members(member)


def _kept_parts(declared: Declared, view: View, text: CxxText) -> dict[int, str]:
    """Return what the compiler surely gets of a declaration that can go, and of its host members: offset → text.

    Args:
        declared: the declaration.
        view: where it is.
        text: of the file, with the conditions inside the declaration.
    """
    parts: dict[int, str] = {}
    if not text.has_whole(declared.start, declared.end):
        return parts
    code = text.without_branches(view.bare, declared.start, declared.end)
    kept = [*code]
    for member in _host_members(declared):
        parts[member.start] = code[member.start - declared.start : member.head_end - declared.start]
        first, last = member.start - declared.start, member.end - declared.start
        kept[first:last] = " " * (last - first)
    body: int | None = declared.head_end
    if declared.kind not in ("function", "prototype"):
        body = reachability.end_of_specialization(declared, view.bare)
    if body is not None:
        del kept[body - declared.start :]
    if _can_go(declared) and declared.kind in ("class", "alias", "variable", "function", "prototype"):
        parts[declared.start] = "".join(kept)
    return parts


def _scope(declared: Declared, view: View) -> Scope:
    names: Scope = ()
    for start, end, words in view.scopes:
        if start <= declared.start < end:
            names += words
    return names


def _needs(text: str, scope: Scope, name: re.Pattern[str], scopes: Collection[Scope]) -> bool:
    """Tell whether a declaration has a name as that of a type wherever it has it.

    The same name may be that of another type elsewhere, as `half` is in one of CUDA's headers.

    Args:
        text: of the declaration, or a part of it.
        scope: the namespaces around it.
        name: of the type.
        scopes: the namespaces around the type.
    """
    is_type = False
    for use in name.finditer(text):
        before = _BEFORE_TYPE.search(text, max(use.start() - _MOST_BEFORE_TYPE, 0), use.start())
        if before is None:
            return False
        qualifier = before["scope"]
        if qualifier is None and not any(scope[: len(outer)] == outer for outer in scopes):
            return False
        if qualifier not in (None, use[0], *itertools.chain.from_iterable(scopes)):
            return False
        is_type = True
    return is_type


def _host_members(declared: Declared) -> Iterator[Declared]:
    for member in declared.members:
        yield from _host_members(member)
        if reachability.is_host_member(member):
            yield member


# --- blanking of host code: spaces in its place, so that every line and nearly every column stays ---------------------


_CONDITIONS = ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef")
_NVCC = re.compile(r"\b__NVCC__\b")
_DROPPED_DIRECTIVES = ("pragma", "include", "error", "warning")


_PLACE = attrgetter("start", "end", "text")


class Replacement(Record):
    """A stretch of a text and what stands there instead."""

    start: int
    end: int
    text: str


def replacements(text: CxxText, views: Sequence[View], edits: Sequence[Edits], macros: Macros) -> list[Replacement]:
    """List what takes the place of host code.

    Args:
        text: as the file holds it.
        views: of the text.
        edits: of each view.
        macros: of the source and all that it includes.
    """
    changes = {Replacement(start, end, spaces(text.text[start:end])) for start, end in _spans(text, views, edits)}
    for edits_of_view in edits:
        changes.update(Replacement(at, at, ANNOTATION) for at in edits_of_view.annotated)
        changes.update(Replacement(at, at, inserted) for at, inserted in edits_of_view.inserted)
    changes.update(_conditions_on_nvcc(text))
    for match in _lambdas(text.code, macros):
        changes.add(Replacement(match.start(1), match.end(1), " " * len(match[1])))
    return sorted(changes, key=_PLACE)


def _without_code(text: CxxText) -> Iterator[Replacement]:
    """Yield spaces for what is no directive; a comment stays where one may go on after a directive's line."""
    hidden = text.code if any("/*" in text.text[one.start : one.end] for one in text.directives) else text.text
    last = 0
    spans: set[tuple[int, int]] = set()
    for directive in text.directives:
        spans |= _visible(hidden, last, directive.start)
        last = directive.end
    spans |= _visible(hidden, last, len(hidden))
    for start, end in sorted(spans):
        yield Replacement(start, end, spaces(text.text[start:end]))


def replaced(text: str, changes: Iterable[Replacement]) -> str:
    """Apply replacements; one that begins inside another is left out."""
    pieces: list[str] = []
    at = 0
    for change in sorted(changes, key=_PLACE):
        if change.start >= at:
            pieces += [text[at : change.start], change.text]
            at = change.end
        elif change.end > at and not change.text.strip():  # blanks that overlap
            pieces.append(change.text[at - change.start :])
            at = change.end
    return "".join((*pieces, text[at:]))


def _conditions_on_nvcc(text: CxxText) -> Iterator[Replacement]:
    """Let conditions on nvcc hold by `__CUDACC__`; CUDA's own headers need to know that it is NVRTC."""
    for directive in text.directives:
        if directive.word in _CONDITIONS:
            start = directive.end - len(directive.rest)
            for name in _NVCC.finditer(directive.rest):
                yield Replacement(start + name.start(), start + name.end(), "__CUDACC__")


def _lambdas(code: str, macros: Macros) -> Iterable[re.Match[str]]:
    """The annotations of lambdas, which NVRTC refuses."""
    names = "|".join(("__host__", "__device__", *map(re.escape, sorted(macros.annotations))))
    return re.finditer(rf"\]\s*((?:(?:{names})\s*)+)(?=[({{])", code)


def _spans(text: CxxText, views: Sequence[View], edits: Sequence[Edits]) -> list[tuple[int, int]]:
    """The stretches of host code, each within a line: what lies between them stays."""
    kept: list[tuple[int, int]] = []
    for edits_of_view in edits:
        kept += edits_of_view.kept
    spans: set[tuple[int, int]] = set()
    for view, edits_of_view in zip(views, edits, strict=True):
        for start, end in edits_of_view.removed:
            if not any(first < end and start < last for first, last in kept):
                spans |= _visible(view.code, start, end)
                spans |= _inner_branches(text, start, end)
    return sorted(spans)


def _visible(code: str, start: int, end: int) -> set[tuple[int, int]]:
    return {match.span() for match in re.compile(r"\S[^\n]*\S|\S").finditer(code, start, end)}


def _inner_branches(text: CxxText, start: int, end: int) -> set[tuple[int, int]]:
    """All branches of the conditionals inside a span, and its directives that would still have an effect."""
    spans: set[tuple[int, int]] = set()
    for conditional in text.conditionals:
        if start <= conditional.start and conditional.end <= end:
            spans |= _visible(text.code, conditional.start, conditional.end)
    for directive in text.directives:
        if start <= directive.start and directive.end <= end and directive.word in _DROPPED_DIRECTIVES:
            spans.add((directive.start, directive.end))
    return spans
