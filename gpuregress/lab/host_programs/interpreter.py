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

from gpuregress.lab.host_programs import library, scalars
from gpuregress.lab.host_programs.declarations import HostDeclarations
from gpuregress.lab.host_programs.objects import ArrayPointer, HostArray, HostCell, Object, Reference, Structure
from gpuregress.lab.host_programs.program import HostFunction, ParameterOfHost
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.lab.host_programs.scope import FunctionReturn, LoopContinued, LoopLeft, StepsExhausted, is_told
from gpuregress.toolchain.host_code import grammar

_MOST_STEPS = 250_000
_MOST_STEPS_OF_LOOP = 20_000
_MOST_TURNS = 70
_WORD = re.compile(r"[A-Za-z_]\w*")
_BLOCKS = ("compound_statement", "translation_unit", "ERROR", "else_clause", "declaration_list", "init_statement")


class HostStatements(HostDeclarations):
    """Execution of statements."""

    def execute(self, node: Node) -> None:
        """Run a statement."""
        self._step()
        kind = node.type
        if kind in _BLOCKS or kind.startswith("preproc"):
            self._frames.append({})
            try:
                for child in node.named_children:
                    self.execute(child)
            finally:
                self._frames.pop()
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
            value = None
            if node.named_children:
                value = self.evaluate(node.named_children[0])
            if not (self._doubts and self._is_launching()) and not self._unlikely:
                raise FunctionReturn(value)
        elif kind in ("break_statement", "continue_statement"):
            if not self._unlikely:
                raise LoopLeft if kind == "break_statement" else LoopContinued
        elif kind in ("expression_statement", "labeled_statement", "try_statement", "case_statement"):
            for child in node.named_children:
                if child.type.endswith("statement") or child.type == "declaration":
                    self.execute(child)
                else:
                    self.evaluate(child)
        elif kind == "alias_declaration":
            name = node.child_by_field_name("name")
            given = node.child_by_field_name("type")
            if name is not None and given is not None:
                self._types[self._text(name)] = self.resolved(self._text(given))
        else:
            self.evaluate(node)

    def _if(self, node: Node) -> None:
        value = self._part(node, "condition")
        self._choose(value)
        taken = node.child_by_field_name("consequence")
        other = node.child_by_field_name("alternative")
        holds = isinstance(value, (ArrayPointer, Reference))
        if isinstance(value, HostScalar):
            holds = bool(value.number)
        if not holds:
            taken, other = other, taken
        if isinstance(value, HostScalar) and value.is_known:
            if other is not None:
                self._look_through(other, value)
            if taken is not None:
                self.execute(taken)
            return
        if not holds and taken is not other and self._assume(node, value):
            taken, other = other, taken
        with self._either(node, is_told=is_told(value)):
            if taken is not None:
                with self._not_left():
                    self.execute(taken)
            if other is not None:
                with self._untaken() as undone:
                    self.execute(other)
                if not is_told(value):
                    self._journals[-1].update(undone)

    def _assume(self, node: Node, value: Object | None) -> bool:
        """Let an unknown number be what it must be for a launch: `if (width == 4) launch<4>(…)`.

        Args:
            node: of the `if`.
            value: of its condition, which does not hold for the guess.
        """
        consequence = node.child_by_field_name("consequence")
        if not isinstance(value, HostScalar) or is_told(value) or value.op != "==":
            return False
        if consequence is None or not self._launches(consequence):
            return False
        leaf, other = value.operands
        if leaf.op != "name":
            leaf, other = other, leaf
        if leaf.op != "name" or leaf.is_known or not other.is_known or other.number <= 0:
            return False
        key = (leaf.name, leaf.where)
        if key in self.assumed:
            return False
        self.assumed[key] = other.number
        return True

    @contextmanager
    def _not_left(self) -> Iterator[None]:
        """Go on after a `break` on an unknown condition."""
        try:
            yield
        except LoopLeft:
            return

    def _look_through(self, node: Node, condition: HostScalar | None = None) -> None:
        """Run a branch that is not taken for its launches alone."""
        if not self._launches(node):
            return
        if condition is not None and grammar.first(node, "kernel_call_syntax") is not None:
            self._fix(condition)
        with self._untaken(), suppress(FunctionReturn):
            self.execute(node)

    def _switch(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        value = self._part(node, "condition")
        self._choose(value)
        if is_told(value):
            self._cases(body, value)
        else:
            with self._either(node, is_told=False):
                self._cases(body, value)

    def _cases(self, body: Node | None, value: Object | None) -> None:
        if body is None:
            return
        cases = [child for child in body.named_children if child.type == "case_statement"]
        chosen = self._chosen(value, cases)
        for number, case in enumerate(cases):
            if chosen is None or number < chosen:
                self._look_through(case, value if isinstance(value, HostScalar) else None)
        if chosen is None:
            return
        is_left = False
        for case in cases[chosen:]:
            if is_left:
                self._look_through(case)
                continue
            label = case.child_by_field_name("value")
            try:
                for child in case.named_children:
                    if label is None or child.start_byte != label.start_byte:
                        self.execute(child)
            except LoopContinued:
                raise
            except LoopLeft:
                is_left = True

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
        if default is None and cases and not isinstance(value, HostScalar):
            return 0  # a guess: nothing is known of the value
        return default

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
            before = [(cell, cell.value) for visible in self._frames for cell in visible.values()]
            limit = self._limit
            choices = self._choices
            outer = self._loops
            if node.type == "for_range_loop":
                self._change_elements(node)
            if self._launches(body):
                self._loops = [*outer, self.place(node)]
                turns = 1
            else:
                self._limit = min(limit, self._steps + _MOST_STEPS_OF_LOOP)
                turns = _MOST_TURNS
            try:
                is_ended = self._turns(node, turns)
            except StepsExhausted:
                if limit != _MOST_STEPS or self._limit == limit:
                    raise
                is_ended = False
            finally:
                self._limit = limit
                self._choices = choices
                self._loops = outer
            if not is_ended:
                self._forget(before, frame)

    def _change_elements(self, node: Node) -> None:
        """Let the contents of the array be uncertain whose elements a loop has references to."""
        declared = self._text(node).partition(":")[0]
        value = self._part(node, "right")
        if isinstance(value, ArrayPointer) and "&" in declared and "const" not in declared:
            value.memory.contents = value.memory.contents.changed()

    def _turns(self, node: Node, most: int) -> bool:
        """Run the turns of a loop; tell whether it ends by itself."""
        body = node.child_by_field_name("body")
        condition = node.child_by_field_name("condition")
        assert body is not None
        for turn in range(most):
            if condition is not None and (node.type != "do_statement" or turn):
                value = self.evaluate(condition)
                if isinstance(value, HostScalar) and not value.number and (turn or scalars.is_told(value)):
                    if not turn:
                        self._look_through(body)
                    return True
            try:
                self.execute(body)
            except LoopContinued:
                pass
            except LoopLeft:
                return True
            if node.type == "for_range_loop":
                return True
            self._part(node, "update")
        return False

    def _mark_loop(self, started: Node, frame: dict[str, HostCell]) -> None:
        """Mark the variables of a loop: those that its initializer declares, else the one that it assigns."""
        cells: list[HostCell | None] = list(frame.values())
        assignment = grammar.first(started, "assignment_expression")
        if not cells and assignment is not None:
            left = assignment.child_by_field_name("left")
            if left is not None:
                cells = [self.lvalue(left)]
        for cell in cells:
            if cell is not None and isinstance(cell.value, HostScalar) and cell.value.op == "number":
                cell.value = HostScalar("loop", cell.value.number)

    def _forget(self, before: Sequence[tuple[HostCell, Object | None]], frame: dict[str, HostCell]) -> None:
        """Make unknown what a loop that was not run to its end has changed."""
        old_values = {id(cell): value for cell, value in before}
        of_loop = {id(cell) for cell in frame.values()}
        for visible in self._frames:
            for cell in visible.values():
                old = old_values.get(id(cell), cell.value)
                if id(cell) in of_loop or not isinstance(cell.value, HostScalar) or not isinstance(old, HostScalar):
                    continue
                if cell.value != old:
                    cell.value = named(cell.name, old.number, self._file, is_known=False)


# --- the interpreter --------------------------------------------------------------------------------------------------


_REGISTRATIONS = ("PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_IMPL")
"""Macros whose bodies name functions for Python and call none."""
_MOST_CALLS = 24
_MOST_STEPS_OF_ALL = 1_000_000
_VECTOR = re.compile(
    r"\b(?:std::|thrust::)?(?:\w*_)?[vV]ector\s*<\s*([^<>]+?)\s*>$|^(?:\w+::)*(?:\w*_)?[vV]ector<(.+)>$"
)


class Interpreter(HostStatements):
    """A run of a program.

    A constant that device code mentions, too, stays a number: the job cannot change it for the compiled kernel.

    Args:
        program: what the files define.
        sizes: of types that the compiler was asked for, in bytes.
        guess: of a whole number that is not known.
    """

    def run(self) -> None:
        """Run `main` and the functions that launch a kernel."""
        self._initialize()
        names = ["main", *self._roots(), *sorted(self.program.launching)]
        spent = 0
        for name in names:
            for function in self.program.functions.get(name, ()):
                if id(function) in self._visited or spent > _MOST_STEPS_OF_ALL:
                    continue
                self._steps = 0
                self._frames = [self._globals]
                self._types = {}
                self._unlikely = 0
                self._untaken_branches = []
                self._doubts = 0
                self._journals = []
                self._asked = []
                self._loops = []
                template: tuple[str, ...] = ()
                if function.template:
                    template = self.program.instances.get(name, ())
                try:
                    self.call(function, None, template)
                except (StepsExhausted, RecursionError):
                    continue
                finally:
                    spent += self._steps
        self._steps = 0  # what is evaluated later has steps of its own

    def _roots(self) -> list[str]:
        """List the launching functions that no other one calls."""
        launching = self.program.launching
        called: set[str] = set()
        for name in launching:
            if name in _REGISTRATIONS:
                continue
            for function in self.program.functions.get(name, ()):
                called |= function.words - {name}
        roots = [name for name in self.program.functions if name in launching and name not in called]
        return [name for name in roots if name not in _REGISTRATIONS]

    def _initialize(self) -> None:
        for node in self.program.enumerators:
            self._enumerate(node)
        for node, path in self.program.variables:
            self._file = path.name
            try:
                self._declare(node)
            except (StepsExhausted, FunctionReturn, LoopLeft, RecursionError):
                self._steps = 0

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
        is_launching = function.name in self.program.launching
        for number, parameter in enumerate(function.parameters):
            argument = parameter.default
            if given is not None and number < len(given):
                argument = given[number]
            if argument is not None:
                cell = self._bound(parameter, argument, types, is_named=is_launching)
            else:
                value = self.unknown_of(parameter.name, parameter.type, is_called=given is not None)
                cell = HostCell(parameter.name, parameter.type, value, self._doubts)
            frame[parameter.name] = cell
        for name, text in types.items():
            if re.fullmatch(r"-?\d+", text):
                frame.setdefault(name, HostCell(name, "int", constant(int(text))))
            elif text in ("true", "false"):
                frame.setdefault(name, HostCell(name, "bool", constant(int(text == "true"))))
        caller = self._frames, self._types, self._function, self._file, self._line, self._call
        self._call_count += 1
        self._call = self._call_count
        self._frames = [self._globals, frame]
        self._types = types
        self._function = function
        self._file = function.path.name
        self._line = 0
        self._visited.add(id(function))
        self._expanding.append(function.name)
        try:
            self.execute(function.body)
        except FunctionReturn as ended:
            return ended.value
        except LoopLeft:
            pass
        finally:
            self._expanding.pop()
            self._frames, self._types, self._function, self._file, self._line, self._call = caller
        return None

    def _bound(self, parameter: ParameterOfHost, node: Node, types: dict[str, str], *, is_named: bool) -> HostCell:
        """Bind an argument to a parameter, and what it tells of the template's types."""
        cell = self.lvalue(node) if parameter.is_reference else None
        if cell is not None:
            return cell
        value = self.evaluate(node)
        if isinstance(value, ArrayPointer):
            pointed = parameter.type.rstrip("*").strip()
            if pointed in self._template_names():
                types.setdefault(pointed, value.type or value.memory.element)
            if value.type and pointed not in types and len(pointed) <= 2:
                types[pointed] = value.type
        if is_named or not isinstance(value, HostScalar) or value.op != "number":
            value = self._named(parameter.name, parameter.type, value, node)
        return HostCell(parameter.name, parameter.type, value, self._doubts)

    def unknown_of(self, name: str, type_: str, *, is_called: bool) -> Object | None:
        """Make the value of a parameter or a member that nobody gives."""
        if name == "argc":
            return named(scalars.COMMAND_LINE, 1, self.place(None), is_known=False)
        if type_.endswith("*") or library.is_tensor(type_):
            if type_.rstrip("* ") in ("char", "FILE", "void") and is_called:
                return None
            element = type_.rstrip("*& ")
            return ArrayPointer(HostArray(name, None, self.place(None), element), element)
        vector = _VECTOR.search(type_)
        if vector is not None:
            element = vector[1] or vector[2]
            return ArrayPointer(HostArray(name, None, self.place(None), element), element)
        plain = type_.replace("const", "").strip()
        if plain == "dim3":
            return None
        if plain.rpartition("::")[2] in self.program.structures:
            return Structure({}, plain, is_given=True)
        return self.unknown(name, type_)
