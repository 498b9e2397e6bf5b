"""Abstract interpreter of host code, which collects the launches of kernels.

It runs `main` as without arguments, then every other function that launches a kernel and was not called. Loops are run
for a few turns. What depends on files, devices and the command line is unknown: such a value has a guess, and of a
branch on it the one that the guess selects counts. Branches that are not taken are looked through for launches of
kernels that nothing else launches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from tree_sitter import Node

from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code import declarations, grammar
from gpuregress.toolchain.host_programs import library, scalars
from gpuregress.toolchain.host_programs.objects import (
    ArrayPointer,
    HostArray,
    HostCell,
    Listed,
    NamedFunction,
    Object,
    Reference,
    SeenLaunch,
    Structure,
    axes,
    dim3,
    extents,
)
from gpuregress.toolchain.host_programs.program import HostFiles, HostFunction, ParameterOfHost
from gpuregress.toolchain.host_programs.scalars import HostScalar, constant, named

_MOST_STEPS = 250_000
_MOST_STEPS_OF_LOOP = 20_000
_MOST_CALLS = 24
_MOST_TURNS = 70
_MOST_LAUNCHES = 2000
GUESS = 1024
_GUESSED_BYTES = 4
_WORD = re.compile(r"[A-Za-z_]\w*")
_FLOAT = re.compile(r"\b(float|double|half)\b")
_VECTOR = re.compile(r"\b(?:std::|thrust::)?(?:\w*_)?vector\s*<\s*([^<>]+?)\s*>$|^(?:\w+::)*(?:\w*_)?vector<(.+)>$")
_BLOCKS = ("compound_statement", "translation_unit", "ERROR", "else_clause", "declaration_list", "init_statement")


_Changes = dict[int, tuple[HostCell, Object | None]]
"""Variables with their old values, by identity."""


class _Return(Exception):
    """The end of a function's run, with its value."""

    def __init__(self, value: Object | None) -> None:
        super().__init__()
        self.value = value


class _Leave(Exception):
    """A `break`, or a `continue` outside of a loop that runs."""


class _Continue(_Leave):
    """A `continue`."""


class _Exhausted(Exception):
    """The end of the steps that a run may take."""


class Interpreter:
    """A run of a program.

    A constant that device code mentions, too, stays a number: the job cannot change it for the compiled kernel.

    Args:
        program: what the files define.
    """

    def __init__(self, program: HostFiles) -> None:
        self.program = program
        self.launches: list[SeenLaunch] = []
        self.symbols: dict[str, HostArray] = {}
        self.fixed: set[str] = set()  # names that decide which launch is made, or fix a template argument
        self._globals: dict[str, HostCell] = {}
        self._frames: list[dict[str, HostCell]] = [self._globals]
        self._types: dict[str, str] = {}
        self._function: HostFunction | None = None
        self._visited: set[str] = set()
        self._doubts = 0  # branches around that may not be taken
        self._unlikely = 0  # branches around that are not taken
        self._asked: list[str] = []  # places of the conditions around that are not known
        self._journals: list[_Changes] = []  # of the branches around that may not be taken, the innermost last
        self._steps = 0
        self._limit = _MOST_STEPS
        self._line = 0  # of the call of a macro whose text runs
        self._file = program.files[0].name if program.files else ""
        self._texts: dict[str, Node | None] = {}
        self._expanding: list[str] = []

    def run(self) -> None:
        """Run `main` and the functions that launch a kernel."""
        self._initialize()
        names = ["main", *self._roots(), *sorted(self.program.launching)]
        for name in names:
            for function in self.program.functions.get(name, ()):
                if name in self._visited:
                    continue
                self._steps, self._frames, self._types = 0, [self._globals], {}
                self._unlikely = self._doubts = 0
                self._journals, self._asked = [], []
                try:
                    self.call(function, None)
                except (_Exhausted, RecursionError):
                    continue
        self._steps = 0  # what is evaluated later has steps of its own

    def _roots(self) -> list[str]:
        """List the launching functions that no other one calls."""
        launching = self.program.launching
        called = {
            word
            for name in launching
            for one in self.program.functions.get(name, ())
            for word in one.words
            if word != name
        }
        return [name for name in self.program.functions if name in launching and name not in called]

    def _initialize(self) -> None:
        for node in self.program.enumerators:
            self._enumerate(node)
        for node, path in self.program.variables:
            self._file = path.name
            try:
                self._declare(node)
            except (_Exhausted, _Return, _Leave, RecursionError):
                self._steps = 0

    def _enumerate(self, node: Node) -> None:
        following: HostScalar = constant(0)
        for one in grammar.everywhere(node, "enumerator"):
            name, value = one.child_by_field_name("name"), one.child_by_field_name("value")
            given = self.evaluate(value) if value is not None else following
            if name is None:
                continue
            spelled = grammar.text(name)
            number = given if isinstance(given, HostScalar) else self.unknown(spelled, "int", one)
            number = constant(number.number) if number.is_known else number
            self._globals[spelled] = HostCell(spelled, "int", number)
            following = scalars.binary("+", number, constant(1))

    # ---- functions

    def call(self, function: HostFunction, given: Sequence[Node] | None, template: Sequence[str] = ()) -> Object | None:
        """Run a function.

        Args:
            function: what is called.
            given: its arguments; None: nothing is known of them.
            template: the template arguments that the call gives.
        """
        if len(self._expanding) > _MOST_CALLS or self._expanding.count(function.name) > 2:
            return None
        frame: dict[str, HostCell] = {}
        types = {name: text for name, text in zip(function.template, template, strict=False) if name}
        for number, parameter in enumerate(function.parameters):
            node = given[number] if given is not None and number < len(given) else None
            frame[parameter.name] = self._bound(
                parameter, node, types, is_called=given is not None, is_named=function.name in self.program.launching
            )
        for name, text in types.items():
            if re.fullmatch(r"-?\d+", text):
                frame.setdefault(name, HostCell(name, "int", constant(int(text))))
        kept = self._frames, self._types, self._function, self._file, self._line
        self._frames, self._types = [self._globals, frame], types
        self._function, self._file, self._line = function, function.path.name, 0
        self._visited.add(function.name)
        self._expanding.append(function.name)
        try:
            self.execute(function.body)
        except _Return as ended:
            return ended.value
        except _Leave:
            pass
        finally:
            self._expanding.pop()
            self._frames, self._types, self._function, self._file, self._line = kept
        return None

    def _bound(
        self, parameter: ParameterOfHost, node: Node | None, types: dict[str, str], *, is_called: bool, is_named: bool
    ) -> HostCell:
        """Bind an argument to a parameter, and what it tells of the template's types."""
        if node is None and parameter.default is not None:
            node = parameter.default
        if node is not None:
            if parameter.is_reference and (cell := self.lvalue(node)) is not None:
                return cell
            value = self.evaluate(node)
            if (
                isinstance(value, ArrayPointer)
                and (plain := parameter.type.rstrip("*").strip()) in self._template_names()
            ):
                types.setdefault(plain, value.type or value.memory.element)
            pointed = parameter.type.rstrip("*").strip()
            if isinstance(value, ArrayPointer) and value.type and pointed not in types and len(pointed) <= 2:
                types[pointed] = value.type
            if is_named or not isinstance(value, HostScalar) or value.op != "number":
                value = self._named(parameter.name, parameter.type, value, node)
            return HostCell(parameter.name, parameter.type, value)
        return HostCell(
            parameter.name, parameter.type, self._unknown_of(parameter.name, parameter.type, is_called=is_called)
        )

    def _template_names(self) -> tuple[str, ...]:
        return self._function.template if self._function is not None else ()

    def _unknown_of(self, name: str, type_: str, *, is_called: bool) -> Object | None:
        """Make the value of a parameter that nobody gives."""
        if name == "argc":
            return named(scalars.COMMAND_LINE, 1, self.place(None), is_known=False)
        if type_.endswith("*") or library.is_tensor(type_):
            if type_.rstrip("* ") in ("char", "FILE", "void") and is_called:
                return None
            return ArrayPointer(HostArray(name, None, self.place(None), type_.rstrip("*& ")), type_.rstrip("*& "))
        vector = _VECTOR.search(type_)
        if vector is not None:
            element = vector[1] or vector[2]
            return ArrayPointer(HostArray(name, None, self.place(None), element), element)
        if type_.replace("const", "").strip() == "dim3":
            return None
        return self.unknown(name, type_)

    def unknown(self, name: str, type_: str = "int", node: Node | None = None) -> HostScalar:
        """Make an unknown number with a guess."""
        resolved = self.resolved(type_)
        if _FLOAT.search(resolved):
            return named(name, 1.0, self.place(node), is_known=False)
        guess = GUESS if "bool" not in resolved else 0
        return named(name, guess, self.place(node), is_known=False)

    def size(self, type_: str, node: Node | None = None) -> HostScalar:
        """Return the size of a type in bytes; one that is not known has a guess.

        Args:
            type_: as it is resolved.
            node: where it is asked for.
        """
        known = library.size_of(type_)
        if known is not None:
            return constant(known)
        name = "_".join(_WORD.findall(type_)) or "element"
        return named(f"sizeof_{name}", _GUESSED_BYTES, self.place(node), is_known=False)

    def place(self, node: Node | None) -> str:
        """Return a node's place in the source, as `app.cu:12`."""
        line = self._line or (node.start_point[0] + 1 if node is not None else 0)
        if not line and self._function is not None:
            line = self._function.body.start_point[0] + 1
        return f"{self._file}:{line}" if line else self._file

    # ---- statements

    def execute(self, node: Node) -> None:
        """Run a statement."""
        self._step()
        kind = node.type
        if kind in _BLOCKS or kind.startswith("preproc"):
            with self._frame():
                for child in node.named_children:
                    self.execute(child)
        elif kind in ("declaration", "field_declaration"):
            self._declare(node)
        elif kind == "if_statement":
            self._if(node)
        elif kind == "enum_specifier":
            self._enumerate(node)
        elif kind in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
            self._loop(node)
        elif kind == "switch_statement":
            self._switch(node)
        elif kind == "return_statement":
            value = self.evaluate(node.named_children[0]) if node.named_children else None
            if not (self._doubts and self._is_launching()) and not self._unlikely:
                raise _Return(value)
        elif kind in ("break_statement", "continue_statement"):
            if not self._unlikely:
                raise _Leave if kind == "break_statement" else _Continue
        elif kind in ("expression_statement", "labeled_statement", "try_statement", "case_statement"):
            for child in node.named_children:
                is_statement = child.type.endswith("statement") or child.type == "declaration"
                self.execute(child) if is_statement else self.evaluate(child)
        elif kind == "alias_declaration":
            name, given = node.child_by_field_name("name"), node.child_by_field_name("type")
            if name is not None and given is not None:
                self._types[grammar.text(name)] = self.resolved(grammar.text(given))
        else:
            self.evaluate(node)

    def _is_launching(self) -> bool:
        return self._function is not None and (
            self._function.name == "main" or self._function.name in self.program.launching
        )

    def _step(self) -> None:
        self._steps += 1
        if self._steps > self._limit:
            raise _Exhausted

    @contextmanager
    def _frame(self) -> Iterator[dict[str, HostCell]]:
        frame: dict[str, HostCell] = {}
        self._frames.append(frame)
        try:
            yield frame
        finally:
            self._frames.pop()

    def _if(self, node: Node) -> None:
        condition = node.child_by_field_name("condition")
        value = self.evaluate(condition) if condition is not None else None
        first, second = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        holds = bool(value.number) if isinstance(value, HostScalar) else isinstance(value, (ArrayPointer, Reference))
        taken, other = (first, second) if holds else (second, first)
        if isinstance(value, HostScalar) and value.is_known:
            if other is not None:
                self._look_through(other, value)
            if taken is not None:
                self.execute(taken)
            return
        with self._either(node, is_told=_is_told(value)):
            if taken is not None:
                with self._not_left():
                    self.execute(taken)
            if other is not None:
                with self._untaken() as undone:
                    self.execute(other)
                if not _is_told(value):
                    self._journals[-1].update(undone)

    @contextmanager
    def _either(self, node: Node, *, is_told: bool) -> Iterator[None]:
        """Run branches on a condition that is not known; what they change is a guess from then on.

        Args:
            node: of the statement.
            is_told: whether the condition holds or not by the command line alone, which has no arguments.
        """
        where = self.place(node)
        self._doubts += 1
        self._asked += [] if is_told else [where]
        with self._journal() as changes:
            try:
                yield
            finally:
                self._doubts -= 1
                if not is_told:
                    self._asked.pop()
                    self._settle([cell for cell, _ in changes.values()], where)

    def _settle(self, changed: Sequence[HostCell], where: str) -> None:
        """Make guesses of the numbers that one of two branches has changed, or would have."""
        for cell in changed:
            if isinstance(cell.value, HostScalar) and cell.value.is_known:
                cell.value = named(cell.name, cell.value.number, where, is_known=False)

    @contextmanager
    def _untaken(self) -> Iterator[_Changes]:
        """Run a branch that is not taken, and undo what it changes of known values; yield what is undone."""
        undone: _Changes = {}
        with self._journal() as changes:
            self._unlikely += 1
            try:
                yield undone
            finally:
                self._unlikely -= 1
                for key, (cell, old) in [*changes.items()]:
                    if old is not None and not (isinstance(old, HostScalar) and not old.is_known):
                        cell.value = old
                        undone[key] = changes.pop(key)

    @contextmanager
    def _journal(self) -> Iterator[_Changes]:
        """Note the variables that are changed, with their old values."""
        changes: _Changes = {}
        self._journals.append(changes)
        try:
            yield changes
        finally:
            self._journals.pop()
            if self._journals:
                self._journals[-1].update({key: one for key, one in changes.items() if key not in self._journals[-1]})

    def _note(self, cell: HostCell) -> None:
        if self._journals:
            self._journals[-1].setdefault(id(cell), (cell, cell.value))

    @contextmanager
    def _not_left(self) -> Iterator[None]:
        """Go on behind a `break` on an unknown condition."""
        try:
            yield
        except _Leave:
            return

    def _fix(self, value: HostScalar) -> None:
        """Note the names that a value depends on: the job must not vary them."""
        self.fixed |= {one.name for one in scalars.leaves(value)}

    def _look_through(self, node: Node, condition: HostScalar | None = None) -> None:
        """Run a branch that is not taken for its launches alone."""
        words = set(_WORD.findall(grammar.text(node)))
        has_launch = next(grammar.everywhere(node, "kernel_call_syntax"), None) is not None
        if not has_launch and not words & self.program.launching:
            return
        if has_launch and condition is not None:
            self._fix(condition)
        with self._untaken(), suppress(_Return):
            self.execute(node)

    def _switch(self, node: Node) -> None:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        value = self.evaluate(condition) if condition is not None else None
        if _is_told(value):
            self._cases(body, value)
        else:
            with self._either(node, is_told=False):
                self._cases(body, value)

    def _cases(self, body: Node | None, value: Object | None) -> None:
        cases = [one for one in body.named_children if one.type == "case_statement"] if body is not None else []
        chosen = self._chosen(value, cases)
        for number, case in enumerate(cases):
            if chosen is None or number < chosen:
                self._look_through(case, value if isinstance(value, HostScalar) else None)
        if chosen is None:
            return
        left = False
        for case in cases[chosen:]:
            if left:
                self._look_through(case)
                continue
            label = case.child_by_field_name("value")
            try:
                for child in case.named_children:
                    if label is None or child.start_byte != label.start_byte:
                        self.execute(child)
            except _Continue:
                raise
            except _Leave:
                left = True

    def _chosen(self, value: Object | None, cases: Sequence[Node]) -> int | None:
        default = None
        for number, case in enumerate(cases):
            label = case.child_by_field_name("value")
            if label is None:
                default = number
                continue
            given = self.evaluate(label)
            if isinstance(value, HostScalar) and isinstance(given, HostScalar) and value.number == given.number:
                return number
        return default if default is not None or isinstance(value, HostScalar) else (0 if cases else None)

    def _loop(self, node: Node) -> None:
        """Run a loop for some turns, one if it launches kernels; what it then computed is not known."""
        body = node.child_by_field_name("body")
        if body is None:
            return
        with self._frame() as frame:
            started = node.child_by_field_name("initializer")
            if started is not None:
                self.execute(started)
                self._mark_loop(started, frame)
            has_launch = any(True for _ in grammar.everywhere(body, "kernel_call_syntax")) or bool(
                set(_WORD.findall(grammar.text(body))) & self.program.launching
            )
            before = {id(cell): cell.value for one in self._frames for cell in one.values()}
            limit = self._limit
            if not has_launch:
                self._limit = min(limit, self._steps + _MOST_STEPS_OF_LOOP)
            try:
                is_ended = self._turns(node, 1 if has_launch else _MOST_TURNS)
            except _Exhausted:
                if limit != _MOST_STEPS or self._limit == limit:
                    raise
                is_ended = False
            finally:
                self._limit = limit
            if not is_ended:
                self._forget(before, frame)

    def _turns(self, node: Node, most: int) -> bool:
        """Run the turns of a loop; tell whether it ends by itself."""
        body, update = node.child_by_field_name("body"), node.child_by_field_name("update")
        condition = node.child_by_field_name("condition")
        assert body is not None
        for turn in range(most):
            if node.type != "do_statement" or turn:
                value = self.evaluate(condition) if condition is not None else constant(1)
                if isinstance(value, HostScalar) and not value.number and (turn or scalars.is_told(value)):
                    return True
            try:
                self.execute(body)
            except _Continue:
                pass
            except _Leave:
                return True
            if node.type == "for_range_loop":
                return True
            if update is not None:
                self.evaluate(update)
        return False

    def _mark_loop(self, started: Node, frame: dict[str, HostCell]) -> None:
        cells = list(frame.values())
        if not cells and (target := next(grammar.everywhere(started, "assignment_expression"), None)) is not None:
            left = target.child_by_field_name("left")
            cells = [cell] if left is not None and (cell := self.lvalue(left)) is not None else []
        for cell in cells:
            if isinstance(cell.value, HostScalar) and cell.value.op == "number":
                cell.value = HostScalar("loop", cell.value.number)

    def _forget(self, before: dict[int, Object | None], frame: dict[str, HostCell]) -> None:
        """Make unknown what a loop that was not run to its end has changed."""
        own = {id(cell) for cell in frame.values()}
        for one in self._frames:
            for cell in one.values():
                value, old = cell.value, before.get(id(cell), cell.value)
                if (
                    id(cell) not in own
                    and isinstance(value, HostScalar)
                    and isinstance(old, HostScalar)
                    and value != old
                ):
                    cell.value = named(cell.name, old.number, self._file, is_known=False)

    # ---- declarations

    def _declare(self, node: Node) -> None:
        given = node.child_by_field_name("type")
        if given is None:
            return
        spelled = self.resolved(grammar.text(given))
        if given.type == "enum_specifier":
            self._enumerate(given)
        for declarator in node.children_by_field_name("declarator"):
            name = declarations.declared_name(declarator)
            if not name:
                continue
            shape = grammar.text(declarator).partition("=")[0]
            stars = "*" * (shape[: shape.find(name)].count("*") if name in shape else 0)
            cell = HostCell(name, spelled + stars)
            cell.value = self._initial(cell, declarator)
            frame = self._frames[-1]
            if frame is not self._globals or name not in frame or frame[name].value is None:
                frame[name] = cell

    def _initial(self, cell: HostCell, declarator: Node) -> Object | None:
        value_node = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
        inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
        if declarator.type == "function_declarator":
            value_node, inner = declarator.child_by_field_name("parameters"), None
        vector = _VECTOR.search(cell.type)
        if vector is not None and not cell.type.endswith("*"):
            return self._vector(cell, vector[1] or vector[2], value_node)
        if inner is not None and inner.type == "array_declarator":
            return self._array(cell, inner, value_node)
        if cell.type == "dim3":
            return self._dim3(value_node)
        if value_node is None:
            return None if "*" in cell.type or dtype_of_type(cell.type) else Structure({}, cell.type)
        if value_node.type in ("argument_list", "initializer_list", "parameter_list"):
            items = tuple(self.evaluate(_expression(one)) for one in value_node.named_children)
            if len(items) == 1 and (dtype_of_type(cell.type) or "*" in cell.type or "auto" in cell.type):
                return self._converted(cell, items[0], value_node)
            return Listed(items) if items and value_node.type != "parameter_list" else Structure({}, cell.type)
        value = self.evaluate(value_node)
        if isinstance(value, ArrayPointer) and not value.memory.name:
            value.memory.name = cell.name
        if isinstance(value, Structure):
            return Structure(
                {name: HostCell(name, one.type, one.value) for name, one in value.members.items()}, value.type
            )
        return self._converted(cell, value, value_node)

    def _converted(self, cell: HostCell, value: Object | None, node: Node) -> Object | None:
        """Convert an initial value to the type of its variable."""
        if value is None and not cell.type.endswith("*"):
            return self.unknown(cell.name, cell.type, node) if dtype_of_type(cell.type) or "auto" in cell.type else None
        if isinstance(value, ArrayPointer):
            is_typed = cell.type.endswith("*") and not cell.type.startswith(("void", "auto"))
            element = cell.type[:-1] if is_typed else value.type
            value.memory.element = value.memory.element or element
            return ArrayPointer(value.memory, element, value.offset)
        return self._named(cell.name, cell.type, value, node)

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

    def _vector(self, cell: HostCell, element: str, node: Node | None) -> Object:
        pointer = ArrayPointer(HostArray(cell.name, None, self.place(node), element), element)
        size = self.size(self.resolved(element), node)
        items = [self.evaluate(_expression(one)) for one in node.named_children] if node is not None else []
        if node is not None and node.type in ("argument_list", "parameter_list") and items:
            first = items[0]
            if isinstance(first, HostScalar):
                pointer.memory.bytes = scalars.binary("*", first, size)
                if len(items) > 1 and isinstance(items[1], HostScalar):
                    pointer.memory.stored, pointer.memory.is_filled = items[1], True
            elif isinstance(first, ArrayPointer):
                self._copy(pointer.memory, first.memory)
        elif node is not None and node.type == "initializer_list":
            pointer.memory.bytes = scalars.binary("*", constant(len(items)), size)
            pointer.memory.is_filled = True
        elif node is not None:
            value = self.evaluate(node)
            if isinstance(value, ArrayPointer):
                self._copy(pointer.memory, value.memory)
        return pointer

    @staticmethod
    def _copy(memory: HostArray, source: HostArray) -> None:
        memory.bytes = memory.bytes or source.bytes
        memory.source, memory.is_filled = source, True

    def _array(self, cell: HostCell, node: Node, value: Node | None) -> Object | None:
        items = tuple(self.evaluate(one) for one in value.named_children) if value is not None else ()
        if cell.type.startswith(("void", "char")) or any(isinstance(one, (Reference, ArrayPointer)) for one in items):
            return Listed(items)
        total = self.size(cell.type, node)
        one: Node | None = node
        while one is not None and one.type == "array_declarator":
            size = one.child_by_field_name("size")
            count = self.evaluate(size) if size is not None else constant(max(len(items), 1))
            total = scalars.binary("*", total, self._counted(count, f"{cell.name}_size", node))
            one = one.child_by_field_name("declarator")
        return ArrayPointer(HostArray(cell.name, total, self.place(node), cell.type), cell.type)

    def _counted(self, value: Object | None, name: str, node: Node) -> HostScalar:
        """Return an extent; one that is not known has a guess."""
        return value if isinstance(value, HostScalar) else named(name, 1, self.place(node), is_known=False)

    def _dim3(self, node: Node | None) -> Object | None:
        if node is None:
            return dim3(())
        if node.type in ("argument_list", "initializer_list", "parameter_list"):
            items = [self.evaluate(_expression(one)) for one in node.named_children]
            return dim3(extents(items, self.place(node)))
        value = self.evaluate(node)
        sizes = axes(value)
        return dim3(sizes) if sizes is not None else None

    # ---- expressions

    def evaluate(self, node: Node) -> Object | None:
        """Compute the value of an expression; None where nothing is known of it."""
        self._step()
        reader = getattr(self, f"_on_{node.type}", None)
        if reader is not None:
            result: Object | None = reader(node)
            return result
        value = None
        for child in node.named_children:
            if child.type.endswith("statement") or child.type == "declaration":
                self.execute(child)
            else:
                value = self.evaluate(child)
        return value if len(node.named_children) == 1 else None

    def _on_number_literal(self, node: Node) -> Object | None:
        return library.number(grammar.text(node))

    def _on_string_literal(self, _: Node) -> None:
        return None

    def _on_type_descriptor(self, node: Node) -> Object | None:
        return self._on_identifier(node) if _WORD.fullmatch(grammar.text(node)) else None

    def _on_true(self, _: Node) -> Object:
        return constant(1)

    def _on_false(self, _: Node) -> Object:
        return constant(0)

    def _on_null(self, _: Node) -> Object:
        return constant(0)

    def _on_initializer_list(self, node: Node) -> Object:
        return Listed(tuple(self.evaluate(one) for one in node.named_children))

    def _on_identifier(self, node: Node) -> Object | None:
        name = grammar.text(node)
        cell = self._cell(name)
        if cell is not None:
            return cell.value
        macro = self.program.macros.get(name)
        if macro is not None and not macro.is_function:
            value = self._expanded(name, macro.body)
            is_free = name not in self.program.device_words
            if (
                is_free
                and isinstance(value, HostScalar)
                and value.op == "number"
                and value.is_integer
                and value.number > 1
            ):
                return named(name, value.number, "")
            return value
        known = library.CONSTANTS.get(name)
        if known is not None:
            return constant(known)
        if self.program.kernel(name) is not None or name in self.program.functions:
            return NamedFunction(name)
        return None

    _on_type_identifier = _on_identifier

    def _on_qualified_identifier(self, node: Node) -> Object | None:
        name = grammar.text(node).rpartition("::")[2]
        cell = self._cell(name)
        return (
            cell.value if cell is not None else NamedFunction(grammar.text(node)) if self.program.kernel(name) else None
        )

    def _on_template_function(self, node: Node) -> Object | None:
        return NamedFunction(self._instance(node))

    def _cell(self, name: str) -> HostCell | None:
        for frame in reversed(self._frames):
            if name in frame:
                return frame[name]
        return None

    def _expanded(self, name: str, body: str) -> Object | None:
        """Evaluate the text of a macro."""
        if self._expanding.count(f"#{name}") or len(self._expanding) > _MOST_CALLS:
            return None
        self._expanding.append(f"#{name}")
        try:
            node = self._parsed(f"auto macro = {body.rstrip('; ')};")
            if node is not None:
                value = next(grammar.everywhere(node, "init_declarator"), None)
                inner = value.child_by_field_name("value") if value is not None else None
                return self.evaluate(inner) if inner is not None else None
            block = self._parsed(f"{{ {body} ; }}")
            if block is not None:
                self.execute(block)
            return constant(0)
        finally:
            self._expanding.pop()

    def _parsed(self, text: str) -> Node | None:
        """Parse the text of a macro; None where it is no declaration or statement."""
        if text not in self._texts:
            plain = re.sub(r"\\\n", " \n", text)
            ascii_text = plain.encode("ascii", "replace").decode()
            root = grammar.root(f"void macro() {{ {ascii_text} }}")
            body = next(grammar.everywhere(root, "compound_statement"), None)
            self._texts[text] = None if root.has_error else body
        return self._texts[text]

    def _on_parenthesized_expression(self, node: Node) -> Object | None:
        return self.evaluate(node.named_children[0]) if node.named_children else None

    def _on_condition_clause(self, node: Node) -> Object | None:
        value = node.child_by_field_name("value")
        return self.evaluate(value) if value is not None else None

    def _on_cast_expression(self, node: Node) -> Object | None:
        given, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if given is None or value is None:
            return None
        return self._cast(grammar.text(given), self.evaluate(value))

    def _cast(self, spelled: str, value: Object | None) -> Object | None:
        type_ = self.resolved(spelled)
        if isinstance(value, HostScalar) and "*" not in type_:
            if _FLOAT.search(type_):
                return scalars.to_float(value)
            return scalars.to_integer(value) if dtype_of_type(type_) is not None else value
        if isinstance(value, ArrayPointer) and type_.endswith("*") and not type_.startswith("void"):
            return ArrayPointer(value.memory, type_[:-1].replace("const", "").strip(), value.offset)
        return value

    def _on_sizeof_expression(self, node: Node) -> Object | None:
        given, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        named_node = given if given is not None else value
        text = grammar.text(named_node).strip("() ") if named_node is not None else ""
        cell = self._cell(text)
        if cell is not None:
            if (
                isinstance(cell.value, ArrayPointer)
                and not cell.type.endswith("*")
                and cell.value.memory.bytes is not None
            ):
                return cell.value.memory.bytes
            return self.size(self.resolved(cell.type), node)
        if text.startswith("*") and (pointer := self._cell(text.strip("* "))) is not None:
            return self.size(self.resolved(pointer.type.removesuffix("*")), node)
        return self.size(self.resolved(text), node)

    def _on_unary_expression(self, node: Node) -> Object | None:
        argument, operator = node.child_by_field_name("argument"), node.child_by_field_name("operator")
        value = self.evaluate(argument) if argument is not None else None
        if operator is None or not isinstance(value, HostScalar):
            is_not = operator is not None and grammar.text(operator) == "!"
            return constant(0) if is_not and isinstance(value, (ArrayPointer, Reference)) else None
        return scalars.unary(grammar.text(operator), value)

    def _on_binary_expression(self, node: Node) -> Object | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return None
        sign = grammar.text(operator)
        first = self.evaluate(left)
        if sign in ("&&", "||") and isinstance(first, HostScalar) and bool(first.number) == (sign == "||"):
            return first
        second = self.evaluate(right)
        if isinstance(first, HostScalar) and isinstance(second, HostScalar):
            return scalars.binary(sign, first, second)
        if isinstance(first, ArrayPointer) and isinstance(second, HostScalar) and sign in "+-":
            return ArrayPointer(first.memory, first.type, scalars.binary(sign, first.offset, second))
        if isinstance(first, (ArrayPointer, Reference)) and sign in ("==", "!="):
            return constant(int(sign == "!="))
        return None

    def _on_conditional_expression(self, node: Node) -> Object | None:
        condition, first = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        second = node.child_by_field_name("alternative")
        if condition is None or first is None or second is None:
            return None
        value = self.evaluate(condition)
        if not isinstance(value, HostScalar):
            taken, other = self.evaluate(second), self.evaluate(first)
            if value is not None:
                return other
            return self._either_of(taken, other, node)
        rounded = library.rounded_up(value, self.evaluate(first), self.evaluate(second))
        if rounded is not None:
            return rounded
        self._fix(value)
        if value.is_known:
            return self.evaluate(first if value.number else second)
        taken, other = (self.evaluate(one) for one in ((first, second) if value.number else (second, first)))
        if taken is None:
            return other
        return taken if scalars.is_told(value) else self._either_of(taken, other, node)

    def _either_of(self, taken: Object | None, other: Object | None, node: Node) -> Object | None:
        """Choose one of two values; a number is a guess unless they are the same."""
        if not isinstance(taken, HostScalar) or not taken.is_known:
            return taken
        is_same = isinstance(other, HostScalar) and other.number == taken.number
        return taken if is_same else named("unknown", taken.number, self.place(node), is_known=False)

    def _on_assignment_expression(self, node: Node) -> Object | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None:
            return None
        value = self.evaluate(right)
        cell = self.lvalue(left)
        if cell is None:
            return value
        sign = grammar.text(operator) if operator is not None else "="
        if sign != "=":
            old = cell.value
            both = isinstance(old, HostScalar) and isinstance(value, HostScalar)
            if isinstance(old, ArrayPointer) and isinstance(value, HostScalar):
                value = ArrayPointer(old.memory, old.type, scalars.binary(sign[0], old.offset, value))
            else:
                assert not both or (isinstance(old, HostScalar) and isinstance(value, HostScalar))
                value = scalars.binary(sign[:-1], old, value) if both else None  # type: ignore[arg-type]
        elif isinstance(value, ArrayPointer) and not value.memory.name:
            value.memory.name = cell.name
        self.assign(cell, value, node)
        return value

    def assign(self, cell: HostCell, value: Object | None, node: Node | None = None) -> None:
        """Give a variable a value; a guess does not replace what is known where the branch may not be taken."""
        old = cell.value
        self._note(cell)
        is_guess = value is None or (isinstance(value, HostScalar) and not value.is_known)
        if self._doubts and is_guess and isinstance(old, (HostScalar, ArrayPointer)):
            return
        if isinstance(value, Structure):
            value = Structure(
                {name: HostCell(name, one.type, one.value) for name, one in value.members.items()}, value.type
            )
        elif value is None and dtype_of_type(cell.type) and "*" not in cell.type:
            value = self.unknown(cell.name, cell.type, node)
        elif isinstance(value, ArrayPointer) and cell.type.endswith("*") and not cell.type.startswith("void"):
            value = ArrayPointer(value.memory, cell.type[:-1], value.offset)
        elif isinstance(old, HostScalar) and old.op == "loop":
            cell.value = value
            return
        cell.value = self._named(cell.name, cell.type, value, node) if cell.type else value

    def _on_update_expression(self, node: Node) -> Object | None:
        argument = node.child_by_field_name("argument")
        cell = self.lvalue(argument) if argument is not None else None
        if cell is None or not isinstance(cell.value, HostScalar):
            return None
        old = cell.value
        self._note(cell)
        moved = scalars.binary("+" if "++" in grammar.text(node) else "-", constant(old.number), constant(1))
        is_loop = old.is_known or old.op == "loop"
        cell.value = moved if is_loop else named(cell.name, moved.number, self.place(node), is_known=False)
        return old

    def _on_comma_expression(self, node: Node) -> Object | None:
        values = [self.evaluate(one) for one in node.named_children]
        return values[-1] if values else None

    def _on_pointer_expression(self, node: Node) -> Object | None:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return None
        if grammar.text(node).startswith("&"):
            if argument.type == "subscript_expression":
                return self._element(argument)
            if (cell := self.lvalue(argument)) is not None:
                return Reference(cell)
            value = self.evaluate(argument)
            return value if isinstance(value, (NamedFunction, ArrayPointer)) else None
        value = self.evaluate(argument)
        if isinstance(value, Reference):
            return value.cell.value
        return value.memory.stored if isinstance(value, ArrayPointer) else None

    def _element(self, node: Node) -> Object | None:
        argument, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        base = self.evaluate(argument) if argument is not None else None
        index = self.evaluate(indices.named_children[0]) if indices is not None and indices.named_children else None
        if isinstance(base, ArrayPointer) and isinstance(index, HostScalar):
            return ArrayPointer(base.memory, base.type, scalars.binary("+", base.offset, index))
        return base if isinstance(base, ArrayPointer) else None

    def _on_subscript_expression(self, node: Node) -> Object | None:
        cell = self.lvalue(node)
        return cell.value if cell is not None else None

    def _on_field_expression(self, node: Node) -> Object | None:
        cell = self.lvalue(node)
        if cell is None:
            return None
        if cell.value is None:
            cell.value = library.device_property(cell.name)
        return cell.value

    def lvalue(self, node: Node) -> HostCell | None:
        """Find the variable, member or element that an expression names."""
        if node.type in ("identifier", "type_identifier"):
            return self._cell(grammar.text(node))
        if node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            return self.lvalue(node.named_children[-1])
        if node.type == "qualified_identifier":
            return self._cell(grammar.text(node).rpartition("::")[2])
        if node.type == "field_expression":
            return self._member(node)
        if node.type == "pointer_expression" and grammar.text(node).startswith("*"):
            argument = node.child_by_field_name("argument")
            value = self.evaluate(argument) if argument is not None else None
            if isinstance(value, Reference):
                return value.cell
            return _Stored(value.memory) if isinstance(value, ArrayPointer) else None
        if node.type == "subscript_expression":
            return self._subscripted(node)
        return None

    def _subscripted(self, node: Node) -> HostCell | None:
        argument, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        base = self.evaluate(argument) if argument is not None else None
        index = self.evaluate(indices.named_children[0]) if indices is not None and indices.named_children else None
        if isinstance(base, ArrayPointer):
            return _Stored(base.memory)
        if isinstance(base, Listed) and isinstance(index, HostScalar):
            at = int(index.number)
            return HostCell("", "", base.items[at] if 0 <= at < len(base.items) else None)
        return None

    def _member(self, node: Node) -> HostCell | None:
        argument, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if argument is None or field is None:
            return None
        name = grammar.text(field)
        base = self.evaluate(argument)
        if isinstance(base, Reference):
            base = base.cell.value
        if isinstance(base, Structure):
            return base.members.setdefault(name, HostCell(name))
        return self._cell(name) if grammar.text(argument) == "this" else None

    def _on_new_expression(self, node: Node) -> Object | None:
        given, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        length = declarator.child_by_field_name("length") if declarator is not None else None
        count = self.evaluate(length) if length is not None else constant(1)
        element = self.resolved(grammar.text(given)) if given is not None else ""
        size = self.size(element, node)
        total = scalars.binary("*", count, size) if isinstance(count, HostScalar) else None
        return ArrayPointer(HostArray("", total, self.place(node), element), element)

    def _on_lambda_expression(self, node: Node) -> Object | None:
        body = node.child_by_field_name("body")
        if body is not None:
            try:
                self.execute(body)
            except (_Return, _Leave):
                return None
        return None

    # ---- calls

    def _on_call_expression(self, node: Node) -> Object | None:
        called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or arguments is None:
            return None
        given = arguments.named_children
        configuration = next((one for one in node.named_children if one.type == "kernel_call_syntax"), None)
        if configuration is not None:
            self._launch(node, called, configuration.named_children, given)
            return None
        if called.type == "field_expression":
            return self._method(node, called, given)
        plain = grammar.text(called).partition("<")[0].rpartition("::")[2].strip()
        template = self._template_arguments(called)
        if plain in ("static_cast", "reinterpret_cast", "const_cast") and len(given) == 1:
            value = self.evaluate(given[0])
            return self._cast(self._cast_type(called), value)
        macro = self.program.macros.get(plain)
        if macro is not None and macro.is_function:
            return self._macro(node, plain, given)
        cell = self._cell(plain)
        if cell is not None and isinstance(cell.value, NamedFunction):
            plain = cell.value.name.partition("<")[0]
        functions = self.program.functions.get(plain)
        if functions:
            same = [one for one in functions if len(one.parameters) == len(given)] or functions
            return self.call(same[0], given, template)
        return library.call(self, plain, given, node)

    def _cast_type(self, called: Node) -> str:
        listed = next(grammar.everywhere(called, "template_argument_list"), None)
        return grammar.text(listed)[1:-1].strip() if listed is not None else ""

    def _macro(self, node: Node, name: str, given: Sequence[Node]) -> Object | None:
        macro = self.program.macros[name]
        if "#" in macro.body.replace("##", ""):  # a message of it has the argument's text
            values = [self.evaluate(one) for one in given]
            return values[0] if values else None
        texts = {key: grammar.text(one) for key, one in zip(macro.parameters, given, strict=False)}
        if macro.parameters[-1:] == ("...",):
            texts["__VA_ARGS__"] = ", ".join(grammar.text(one) for one in given[len(macro.parameters) - 1 :])
        body = macro.body.replace("\\\n", " ")
        body = re.sub(
            r"\b\w+\b",
            lambda match: f"({texts[match[0]]})" if _is_operand(match, texts) else texts.get(match[0], match[0]),
            body,
        )
        body = re.sub(r"\s*##\s*", "", body)
        line, self._line = self._line, self._line or node.start_point[0] + 1
        try:
            return self._expanded(name, body)
        finally:
            self._line = line

    def _method(self, node: Node, called: Node, given: Sequence[Node]) -> Object | None:
        argument, field = called.child_by_field_name("argument"), called.child_by_field_name("field")
        base = self.evaluate(argument) if argument is not None else None
        name = grammar.text(field).partition("<")[0] if field is not None else ""
        functions = self.program.functions.get(name)
        if isinstance(base, ArrayPointer):
            return library.method(self, base, name, given, node)
        if argument is not None and name == "data_ptr":
            element = self._cast_type(called)
            return ArrayPointer(HostArray(grammar.text(argument), None, self.place(node), element), element)
        if functions and name in self.program.launching:
            return self.call(functions[0], given)
        for one in given:
            self.evaluate(one)
        return None

    def _template_arguments(self, called: Node) -> tuple[str, ...]:
        listed = next((one for one in grammar.everywhere(called, "template_argument_list")), None)
        return tuple(map(self._template_text, listed.named_children)) if listed is not None else ()

    def _template_text(self, node: Node) -> str:
        spelled = grammar.text(node)
        name = spelled.strip()
        if node.type == "type_descriptor" and not (
            _WORD.fullmatch(name) and (self._cell(name) is not None or name in self.program.macros)
        ):
            return self.resolved(spelled)
        value = self.evaluate(node)
        if isinstance(value, HostScalar):
            self._fix(value)
            return {"true": "true", "false": "false"}.get(name, str(value.number))
        return self.resolved(spelled)

    def _instance(self, node: Node) -> str:
        """Spell a kernel's name with its template arguments evaluated."""
        name = grammar.text(node).partition("<")[0].strip()
        arguments = self._template_arguments(node)
        return f"{name}<{', '.join(arguments)}>" if arguments else name

    def _launch(self, node: Node, called: Node, configuration: Sequence[Node], given: Sequence[Node]) -> None:
        values = [self.evaluate(one) for one in configuration]
        name = self._instance(called)
        cell = self._cell(name)
        if cell is not None and isinstance(cell.value, NamedFunction):
            name = cell.value.name
        grid, block, shared = [*values, None, None][:3] if len(values) < 3 else values[:3]
        if len(values) > 2 and shared is None:
            shared = self.unknown("shared", "int", node)
        self.record(name, grid, block, shared, given, node)

    def record(
        self,
        name: str,
        grid: Object | None,
        block: Object | None,
        shared: Object | None,
        given: Sequence[Node],
        node: Node,
    ) -> None:
        """Note a launch.

        Args:
            name: the kernel's, with template arguments.
            grid: blocks.
            block: threads of a block.
            shared: bytes.
            given: nodes of the arguments.
            node: of the launch.
        """
        arguments = tuple(self.evaluate(one) for one in given)
        types = tuple(self._type_of(one, value) for one, value in zip(given, arguments, strict=True))
        texts = tuple(" ".join(grammar.text(one).split()) for one in given)
        self.record_values(name, (grid, block, shared), arguments, types, texts, node)

    def record_values(
        self,
        name: str,
        configuration: tuple[Object | None, Object | None, Object | None],
        arguments: tuple[Object | None, ...],
        types: tuple[str, ...],
        texts: tuple[str, ...],
        node: Node,
    ) -> None:
        """Note a launch whose arguments are evaluated.

        Args:
            name: the kernel's, with template arguments.
            configuration: grid, block and bytes of shared memory.
            arguments: their values.
            types: their types.
            texts: their texts.
            node: of the launch.
        """
        if len(self.launches) >= _MOST_LAUNCHES:
            raise _Exhausted
        grid, block, shared = configuration
        plain, _, rest = name.partition("<")
        template = tuple(part.strip() for part in split_arguments(rest.rstrip()[:-1])) if rest else ()
        where = self.place(node)
        size = constant(0) if shared is None else shared
        if not isinstance(size, HostScalar):
            size = named("shared", 0, where, is_known=False)
        sizes, branches = (axes(grid), axes(block), size), self._unlikely
        self.launches.append(
            SeenLaunch(plain.strip(), template, *sizes, arguments, types, texts, where, branches, tuple(self._asked))
        )

    def _type_of(self, node: Node, value: Object | None) -> str:
        if isinstance(value, ArrayPointer):
            return f"{value.type or value.memory.element}*"
        cell = self.lvalue(node)
        if cell is not None and cell.type:
            return self.resolved(cell.type)
        if isinstance(value, HostScalar):
            return "int" if value.is_integer else "double" if "." in grammar.text(node) else "float"
        return ""

    def resolved(self, text: str) -> str:
        """Replace the names of template parameters, aliases and macros in a type's text."""
        plain = re.sub(r"\b(?:const|volatile|struct|typename|static|constexpr|class)\b", " ", text)
        for _ in range(4):
            changed = _WORD.sub(self._type_word, plain)
            if changed == plain:
                break
            plain = changed
        return re.sub(r"\s*([*&<>,])\s*", r"\1", " ".join(plain.split()))

    def _type_word(self, match: re.Match[str]) -> str:
        word = match[0]
        if word in self._types:
            return self._types[word]
        if dtype_of_type(word) is not None:
            return word
        alias = self.program.aliases.get(word)
        if alias is not None:
            return alias
        macro = self.program.macros.get(word)
        return macro.body if macro is not None and not macro.is_function and macro.body else word


def _is_told(value: Object | None) -> bool:
    return scalars.is_told(value) if isinstance(value, HostScalar) else value is not None


class _Stored(HostCell):
    """An element of an array: the first value that is stored is kept."""

    __slots__ = ("_memory",)

    def __init__(self, memory: HostArray) -> None:
        self._memory = memory
        super().__init__("", "", memory.stored)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "value" and isinstance(value, HostScalar) and self._memory.stored is None:
            self._memory.stored, self._memory.is_filled = value, True
        super().__setattr__(name, value)


def split_arguments(text: str) -> list[str]:
    """Split template arguments at the commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _expression(node: Node) -> Node:
    """Return what `dim3 grid(a, b)` gives where the grammar takes it for parameters."""
    if node.type == "parameter_declaration":
        given = node.child_by_field_name("type")
        return given if given is not None else node
    return node


def _is_operand(match: re.Match[str], texts: dict[str, str]) -> bool:
    """Tell whether an argument needs brackets in a macro's text."""
    return (
        match[0] in texts
        and re.search(r"[-+*/%?<>|&]\s|\s[-+*/%?<>|&]", texts[match[0]]) is not None
        and not re.search(r"<<<|,", texts[match[0]])
    )
