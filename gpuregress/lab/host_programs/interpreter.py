"""Abstract interpreter of host code, which collects the launches of kernels.

It runs `main` as without arguments, then every other function that launches a kernel and was not called. Loops are run
for a few turns. What depends on files, devices and the command line is unknown: such a value has a guess, and of a
branch on it the one that the guess selects counts. Branches that are not taken are looked through for launches of
kernels that nothing else launches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from gpuregress.lab.host_programs import library, scalars
from gpuregress.lab.host_programs.objects import ArrayPointer, HostArray, HostCell, Object
from gpuregress.lab.host_programs.program import HostFunction, ParameterOfHost
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.lab.host_programs.scope import FunctionReturn, LoopLeft, StepsExhausted
from gpuregress.lab.host_programs.statements import HostStatements

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
                self._steps, self._frames, self._types = 0, [self._globals], {}
                self._unlikely = self._doubts = 0
                self._journals, self._asked, self._loops = [], [], []
                try:
                    self.call(function, None, self.program.instances.get(name, ()) if function.template else ())
                except (StepsExhausted, RecursionError):
                    continue
                finally:
                    spent += self._steps
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
        else:
            value = self._unknown_of(parameter.name, parameter.type, is_called=is_called)
        return HostCell(parameter.name, parameter.type, value, self._doubts)

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
