"""Variables in scope of a run of host code, with the values that branches change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

from tree_sitter import Node

from gpuregress.lab.host_programs import library, scalars
from gpuregress.lab.host_programs.objects import (
    ArrayPointer,
    ElementCell,
    HostArray,
    HostCell,
    Object,
    SeenLaunch,
    Structure,
)
from gpuregress.lab.host_programs.program import HostFiles, HostFunction
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code import grammar

_MOST_STEPS = 250_000
_BEGINNING = re.compile(r"(\w+_)?(start|begin|first|offset)(_\w+)?", re.IGNORECASE)
"""What is called so is subtracted from an end, or added to an index."""
GUESS = 1024
_GUESSED_BYTES = 4
_WORD = re.compile(r"[A-Za-z_]\w*")
_SCOPE_OF_BUILTIN = re.compile(
    r"(?<![\w:>])(?:[A-Za-z_]\w*\s*::\s*)+(?=(?:bool|char|double|float|int|long|short|signed|unsigned)\b)"
)
"""The namespace of an alias whose type has taken the place of its name: `ns::double` of `ns::real`."""
_FLOAT = re.compile(r"\b(float|double|half)\b")
_SCOPE = re.compile(r"(\w+|>)\s*::\s*\Z")
_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|typename|static|constexpr|class)\b")
_SIGNS = re.compile(r"\s*([*&<>,])\s*")
Leaf = tuple[str, str]
"""Name of an unknown number, and its place in the source."""
_Changes = dict[int, tuple[HostCell, Object | None]]
"""Variables with their old values, by identity."""


class FunctionReturn(Exception):
    """The end of a function's run, with its value."""

    def __init__(self, value: Object | None) -> None:
        super().__init__()
        self.value = value


class LoopLeft(Exception):
    """A `break`, or a `continue` outside of a loop that runs."""


class LoopContinued(LoopLeft):
    """A `continue`."""


class StepsExhausted(Exception):
    """The end of the steps that a run may take."""


class HostScope:
    """State of a run: variables, types, and the branches around.

    Args:
        program: what the files define.
        sizes: of types that the compiler was asked for, in bytes.
        guess: of a whole number that is not known.
        constants: of classes that the compiler was asked for, as `Traits<128>::kThreads`.
        assumed: what an earlier run assumed of unknown numbers.
        has_channels_last: whether tensors of three axes and more have the second one innermost.
    """

    def __init__(
        self,
        program: HostFiles,
        sizes: Mapping[str, int] | None = None,
        guess: int = GUESS,
        constants: Mapping[str, int] | None = None,
        assumed: Mapping[Leaf, int | float] | None = None,
        *,
        has_channels_last: bool = False,
    ) -> None:
        self.program = program
        self.has_channels_last = has_channels_last
        self.unsized: set[str] = set()  # types whose size was asked for and is not known
        self.unevaluated: set[str] = set()  # constants of classes that were asked for and are not known
        self.assumed: dict[Leaf, int | float] = dict(assumed or {})  # unknown numbers, as branches want them
        self._constants = constants or {}
        self._sizes = sizes or {}
        self._guess = guess
        self.launches: list[SeenLaunch] = []
        self.symbols: dict[str, HostArray] = {}
        self.fixed: set[str] = set()  # names that decide which launch is made, or fix a template argument
        self._globals: dict[str, HostCell] = {}
        self._frames: list[dict[str, HostCell]] = [self._globals]
        self._types: dict[str, str] = {}
        self._function: HostFunction | None = None
        self._call = 0  # number of the call that runs
        self._call_count = 0
        self._visited: set[int] = set()  # identities of functions
        self._doubts = 0  # branches around that may not be taken
        self._unlikely = 0  # branches around that are not taken
        self._untaken_branches: list[int] = []  # their numbers
        self._branch_count = 0
        self._loops: list[str] = []  # places of the loops around that launch kernels
        self._choices = 0  # conditions on a loop's variable in the turn so far
        self._asked: list[str] = []  # places of the conditions around that are not known
        self._journals: list[_Changes] = []  # of the branches around that may not be taken, the innermost last
        self._steps = 0
        self._limit = _MOST_STEPS
        self._line = 0  # of the call of a macro whose text runs
        self._file = program.files[0].name if program.files else ""
        self._parsed_texts: dict[str, Node | None] = {}
        self._expanding: list[str] = []
        # A statement runs many times, and the tree makes its text anew whenever it is asked for.
        self._text = cache(grammar.text)
        self._launches = cache(self._leads_to_launch)
        self._reader = cache(self._reader_of)

    def unknown(self, name: str, type_: str = "int", node: Node | None = None) -> HostScalar:
        """Make an unknown number with a guess."""
        resolved = self.resolved(type_)
        if _FLOAT.search(resolved):
            return named(name, 1.0, self.place(node), is_known=False)
        guess = self._guess
        if "bool" in resolved or _BEGINNING.fullmatch(name):
            guess = 0
        where = self.place(node)
        return named(name, self.assumed.get((name, where), guess), where, is_known=False)

    def size(self, type_: str, node: Node | None = None) -> HostScalar:
        """Return the size of a type in bytes; one that is not known has a guess.

        Args:
            type_: as it is resolved.
            node: where it is asked for.
        """
        known = library.size_of(type_) or self._sizes.get(type_)
        if known is not None:
            return constant(known)
        self.unsized.add(type_)
        name = "_".join(_WORD.findall(type_)) or "element"
        return named(f"sizeof_{name}", _GUESSED_BYTES, self.place(node), is_known=False)

    def place(self, node: Node | None) -> str:
        """Return a node's place in the source, as `app.cu:12`."""
        if self._line:
            return f"{self._file}:{self._line}"
        if node is None and self._function is not None:
            node = self._function.body
        if node is None:
            return self._file
        return f"{self._file}:{node.start_point[0] + 1}"

    def resolved(self, text: str) -> str:
        """Replace the names of template parameters, aliases and macros in a type's text."""
        if text.isidentifier() and text not in self._types and dtype_of_type(text) is not None:
            return text
        plain = _QUALIFIERS.sub(" ", text)
        for _ in range(4):
            changed = _SCOPE_OF_BUILTIN.sub("", _WORD.sub(self._type_word, plain))
            if changed == plain:
                break
            plain = changed
        return _SIGNS.sub(r"\1", " ".join(plain.split()))

    def _type_word(self, match: re.Match[str]) -> str:
        word = match[0]
        before = match.string[: match.start()].rstrip()
        if word in self._types and not before.endswith("::"):
            return self._types[word]
        if dtype_of_type(word) is not None:
            return word
        alias = self.program.aliases.get(word)
        # That of a class template may be in terms of the template's parameters: the compiler knows it.
        if alias is not None and (dtype_of_type(alias) is not None or not self._is_in_instance(before)):
            return alias
        macro = self.program.macros.get(word)
        if macro is not None and not macro.is_function and macro.body:
            return macro.body
        cell = None if before.endswith("::") else self._cell(word)
        if cell is not None and isinstance(cell.value, HostScalar) and cell.value.is_known:
            return str(cell.value.number)  # a template argument
        return word

    def _is_in_instance(self, before: str) -> bool:
        """Tell whether the text before a name qualifies it by an instance of a class template."""
        scope = _SCOPE.search(before)
        return scope is not None and (scope[1] == ">" or "<" in self._types.get(scope[1], ""))

    def _member_types(self, type_: str) -> dict[str, str]:
        """Return the data members of a structure that are no arrays, with their types."""
        members: dict[str, str] = {}
        pending = [type_.rpartition("::")[2]]
        seen: set[str] = set()
        while pending:
            structure = self.program.structures.get(pending.pop(0))
            if structure is None or structure.name in seen:
                continue
            seen.add(structure.name)
            for member in structure.members or ():
                if not member.path.endswith("[]"):
                    members.setdefault(member.path, member.type)
            pending += [base.rpartition("::")[2] for base in structure.bases]
        return members

    def _leads_to_launch(self, node: Node) -> bool:
        """Tell whether code may launch a kernel."""
        if grammar.first(node, "kernel_call_syntax") is not None:
            return True
        return not self.program.launching.isdisjoint(_WORD.findall(grammar.text(node)))

    def _reader_of(self, kind: str) -> Callable[[Node], Object | None] | None:
        """Find the method that evaluates expressions of a kind."""
        return getattr(self, f"_on_{kind}", None)

    def _is_launching(self) -> bool:
        if self._function is None:
            return False
        return self._function.name == "main" or self._function.name in self.program.launching

    def _step(self) -> None:
        self._steps += 1
        if self._steps > self._limit:
            raise StepsExhausted

    @contextmanager
    def _frame(self) -> Iterator[dict[str, HostCell]]:
        frame: dict[str, HostCell] = {}
        self._frames.append(frame)
        try:
            yield frame
        finally:
            self._frames.pop()

    def _cell(self, name: str) -> HostCell | None:
        for frame in reversed(self._frames):
            if name in frame:
                return frame[name]
        return None

    def assign(self, cell: HostCell, value: Object | None, node: Node | None = None) -> None:
        """Give a variable a value; a guess does not replace what is known where the branch may not be taken."""
        if isinstance(cell, ElementCell):
            cell.store(value, is_chosen=self._choices > 0)
        old = cell.value
        self._note(cell)
        is_guess = value is None or (isinstance(value, HostScalar) and not value.is_known)
        if self._doubts > cell.doubts and is_guess and isinstance(old, (HostScalar, ArrayPointer)):
            return
        if isinstance(value, Structure):
            value = value.copy(cell.doubts)
        elif value is None and dtype_of_type(cell.type) and "*" not in cell.type:
            value = self.unknown(cell.name, cell.type, node)
        elif isinstance(value, ArrayPointer) and cell.type.endswith("*") and not cell.type.startswith("void"):
            value = ArrayPointer(value.memory, cell.type[:-1], value.offset)
        elif isinstance(old, HostScalar) and old.op == "loop":
            cell.value = value
            return
        if cell.type:
            value = self._named(cell.name, cell.type, value, node)
        cell.value = value

    def _named(self, name: str, type_: str, value: Object | None, node: Node | None) -> Object | None:
        """Name an integer after its variable, so that it becomes a parameter of the job."""
        if not isinstance(value, HostScalar):
            return value
        resolved = self.resolved(type_)
        if _FLOAT.search(resolved) and "*" not in resolved:
            return scalars.to_float(value)
        is_typed = dtype_of_type(resolved.replace("constexpr", "").replace("static", "")) is not None
        if is_typed and "auto" not in resolved:
            value = scalars.to_integer(value)
        if value.op == "name" and not value.is_known and value.name in ("unknown", ""):
            return named(name, value.number, value.where or self.place(node), is_known=False)
        is_free = self._function is not None or name not in self.program.device_words
        if is_free and value.op == "number" and value.is_integer and value.number > 1 and "bool" not in resolved:
            return named(name, value.number, self.place(node))
        return value

    def _fix(self, value: HostScalar) -> None:
        """Note the names that a value depends on: the job must not vary them."""
        self.fixed |= {leaf.name for leaf in scalars.leaves(value)}

    def _choose(self, value: Object | None) -> None:
        """Note a condition that may hold in some turns of a loop only."""
        if isinstance(value, HostScalar) and scalars.depends_on_loop(value):
            self._choices += 1

    @contextmanager
    def _either(self, node: Node, *, is_told: bool) -> Iterator[None]:
        """Run branches on a condition that is not known; what they change is a guess from then on.

        Args:
            node: of the statement.
            is_told: whether the condition holds or not by the command line alone, which has no arguments.
        """
        where = self.place(node)
        self._doubts += 1
        if not is_told:
            self._asked.append(where)
        changes: _Changes = {}
        self._journals.append(changes)
        try:
            yield
        finally:
            self._doubts -= 1
            if not is_told:
                self._asked.pop()
                self._settle([cell for cell, _ in changes.values()], where)
            self._end_journal(changes)

    def _settle(self, changed: Sequence[HostCell], where: str) -> None:
        """Make guesses of the numbers that one of two branches has changed, or would have."""
        for cell in changed:
            if isinstance(cell.value, HostScalar) and cell.value.is_known:
                cell.value = named(cell.name, cell.value.number, where, is_known=False)

    @contextmanager
    def _untaken(self) -> Iterator[_Changes]:
        """Run a branch that is not taken, and undo what it changes of known values; yield what is undone."""
        undone: _Changes = {}
        changes: _Changes = {}
        self._journals.append(changes)
        self._unlikely += 1
        self._branch_count += 1
        self._untaken_branches.append(self._branch_count)
        try:
            yield undone
        finally:
            self._untaken_branches.pop()
            self._unlikely -= 1
            for key, (cell, old) in [*changes.items()]:
                if old is not None and not (isinstance(old, HostScalar) and not old.is_known):
                    cell.value = old
                    undone[key] = changes.pop(key)
            self._end_journal(changes)

    def _end_journal(self, changes: _Changes) -> None:
        """End the innermost journal, which notes the variables that are changed with their old values."""
        self._journals.pop()
        if self._journals:
            for key, change in changes.items():
                self._journals[-1].setdefault(key, change)

    def _note(self, cell: HostCell) -> None:
        if self._journals:
            self._journals[-1].setdefault(id(cell), (cell, cell.value))

    def evaluate(self, node: Node) -> Object | None:
        """Compute the value of an expression; None where nothing is known of it."""
        raise NotImplementedError

    def unknown_of(self, name: str, type_: str, *, is_called: bool) -> Object | None:
        """Make the value of a parameter or a member that nobody gives."""
        raise NotImplementedError

    def execute(self, node: Node) -> None:
        """Run a statement."""
        raise NotImplementedError

    def call(self, function: HostFunction, given: Sequence[Node] | None, template: Sequence[str] = ()) -> Object | None:
        """Run a function."""
        raise NotImplementedError


def is_told(value: Object | None) -> bool:
    """Tell whether a condition is decided, if only by a command line without arguments.

    Args:
        value: of the condition.
    """
    if isinstance(value, HostScalar):
        return scalars.is_told(value)
    return value is not None
