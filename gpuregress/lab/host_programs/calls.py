"""Calls of host code: functions, macros, methods, and launches of kernels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from gpuregress.lab.host_programs import library
from gpuregress.lab.host_programs.expressions import HostExpressions
from gpuregress.lab.host_programs.objects import ArrayPointer, HostArray, NamedFunction, Object, SeenLaunch, axes
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.lab.host_programs.scope import StepsExhausted
from gpuregress.toolchain.host_code import grammar

_MOST_LAUNCHES = 2000
UNKNOWN_ARGUMENT = "?"
"""Stands for a template argument that the host code does not tell: a variable without a known value."""
_WORD = re.compile(r"[A-Za-z_]\w*")


class HostCalls(HostExpressions):
    """Evaluation of calls; the launches among them are noted."""

    def _on_template_function(self, node: Node) -> Object | None:
        return NamedFunction(self._instance(node))

    def _on_call_expression(self, node: Node) -> Object | None:
        called = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if called is None or arguments is None:
            return None
        given = arguments.named_children
        for child in node.named_children:
            if child.type == "kernel_call_syntax":
                self._launch(node, called, child.named_children, given)
                return None
        if called.type == "lambda_expression":
            return self.evaluate(called)
        if called.type == "field_expression":
            return self._method(node, called, given)
        plain = self._text(called).partition("<")[0].rpartition("::")[2].strip()
        template = self._template_arguments(called)
        if plain in ("static_cast", "reinterpret_cast", "const_cast") and len(given) == 1:
            value = self.evaluate(given[0])
            return self._cast(self._cast_type(called), value)
        if plain in library.SHAPE_CHECKS:
            return library.check_shape([self.evaluate(argument) for argument in given])
        macro = self.program.macros.get(plain)
        if macro is not None and macro.is_function:
            return self._macro(node, plain, given)
        if plain.startswith("AT_DISPATCH_"):
            # An instance that each of these macros makes.
            self._types["scalar_t"] = "int" if "INTEGRAL" in plain else "float"
        cell = self._cell(plain)
        if cell is not None and isinstance(cell.value, NamedFunction):
            plain = cell.value.name.partition("<")[0]
        functions = self.program.functions.get(plain)
        if functions:
            candidates = [function for function in functions if len(function.parameters) == len(given)]
            return self.call([*candidates, *functions][0], given, template)
        return library.call(self, plain, given, node)

    def _cast_type(self, called: Node) -> str:
        arguments = grammar.first(called, "template_argument_list")
        if arguments is None:
            return ""
        return self._text(arguments)[1:-1].strip()

    def _macro(self, node: Node, name: str, given: Sequence[Node]) -> Object | None:
        macro = self.program.macros[name]
        callables = "|".join(["__VA_ARGS__", *[name for name in macro.parameters if name != "..."]])
        is_called = re.search(rf"\b(?:{callables})\s*\(\s*\)", macro.body)
        if "#" in macro.body.replace("##", "") and not is_called:  # a message of it has the argument's text
            values = [self.evaluate(argument) for argument in given]
            return values[0] if values else None
        texts = {name: self._text(argument) for name, argument in zip(macro.parameters, given, strict=False)}
        if macro.parameters[-1:] == ("...",):
            further = given[len(macro.parameters) - 1 :]
            texts["__VA_ARGS__"] = ", ".join(self._text(argument) for argument in further)

        def replacement(match: re.Match[str]) -> str:
            text = texts.get(match[0], match[0])
            if match[0] in texts and _is_operation(text):
                return f"({text})"
            return text

        unquoted = re.sub(r"(?<!#)#\s*\w+", '""', macro.body.replace("\\\n", " "))
        body = re.sub(r"\b\w+\b", replacement, unquoted)
        body = re.sub(r"\s*##\s*", "", body)
        line = self._line
        self._line = line or node.start_point[0] + 1
        try:
            return self._expanded(name, body)
        finally:
            self._line = line

    def _method(self, node: Node, called: Node, given: Sequence[Node]) -> Object | None:
        argument = called.child_by_field_name("argument")
        field = called.child_by_field_name("field")
        base = self._part(called, "argument")
        name = self._text(field).partition("<")[0] if field is not None else ""
        functions = self.program.functions.get(name)
        if isinstance(base, ArrayPointer):
            return library.method(self, base, name, given, node)
        if argument is not None and name == "data_ptr":
            element = self._cast_type(called)
            return ArrayPointer(HostArray(self._text(argument), None, self.place(node), element), element)
        if functions and name in self.program.launching:
            return self.call(functions[0], given)
        library.change([self.evaluate(argument) for argument in given])
        return None

    def _template_arguments(self, called: Node) -> tuple[str, ...]:
        arguments = grammar.first(called, "template_argument_list")
        if arguments is None:
            return ()
        return tuple(self._template_text(argument) for argument in arguments.named_children)

    def _template_text(self, node: Node) -> str:
        spelled = self._text(node)
        name = spelled.strip()
        is_value = _WORD.fullmatch(name) and (self._cell(name) is not None or name in self.program.macros)
        if name in ("true", "false"):
            return name
        value: Object | None = None
        if node.type != "type_descriptor" or is_value:
            value = self.evaluate(node)
        if isinstance(value, HostScalar) and (value.is_known or value.op == "loop"):
            self._fix(value)
            return str(value.number)
        if is_value and not isinstance(value, NamedFunction):
            return UNKNOWN_ARGUMENT
        resolved = self.resolved(spelled)
        return UNKNOWN_ARGUMENT if self.has_variables(resolved) else resolved

    def _template_names(self) -> tuple[str, ...]:
        if self._function is None:
            return ()
        return self._function.template

    def _instance(self, node: Node) -> str:
        """Spell a kernel's name with its template arguments evaluated."""
        name = self._text(node).partition("<")[0].strip()
        arguments = self._template_arguments(node)
        if not arguments:
            return name
        return f"{name}<{', '.join(arguments)}>"

    def _launch(self, node: Node, called: Node, configuration: Sequence[Node], given: Sequence[Node]) -> None:
        values = [self.evaluate(value) for value in configuration]
        name = self._instance(called)
        cell = self.lvalue(called) if called.type == "subscript_expression" else self._cell(name)
        if cell is not None and isinstance(cell.value, NamedFunction):
            name = cell.value.name
        grid, block, shared = [*values, None, None, None][:3]
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
        arguments = tuple(self.evaluate(argument) for argument in given)
        types = tuple(self._type_of(argument, value) for argument, value in zip(given, arguments, strict=True))
        texts = tuple(" ".join(self._text(argument).split()) for argument in given)
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
            raise StepsExhausted
        grid, block, shared = configuration
        kernel, _, template = name.partition("<")
        where = self.place(node)
        size = constant(0) if shared is None else shared
        if not isinstance(size, HostScalar):
            size = named("shared", 0, where, is_known=False)
        self.launches.append(
            SeenLaunch(
                kernel=kernel.strip(),
                template=tuple(part.strip() for part in split_arguments(template.rstrip()[:-1])),
                grid=axes(grid),
                block=axes(block),
                shared=size,
                arguments=arguments,
                types=types,
                texts=texts,
                where=where,
                branches_not_taken=self._unlikely,
                conditions=tuple(self._asked),
                loops=tuple(self._loops),
                untaken=tuple(self._untaken_branches),
                function=self._function.name if self._function is not None else "",
                call=self._call,
            )
        )

    def _type_of(self, node: Node, value: Object | None) -> str:
        if isinstance(value, ArrayPointer):
            return f"{value.type or value.memory.element}*"
        cell = self.lvalue(node)
        if cell is not None and cell.type:
            return self.resolved(cell.type)
        if not isinstance(value, HostScalar):
            return ""
        if value.is_integer:
            return "int"
        return "double" if "." in self._text(node) else "float"


def split_arguments(text: str) -> list[str]:
    """Split template arguments at the commas outside of brackets."""
    parts = [""]
    depth = 0
    for character in text:
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _is_operation(text: str) -> bool:
    """Tell whether a macro's argument needs brackets in the macro's text."""
    has_operator = re.search(r"[-+*/%?<>|&]\s|\s[-+*/%?<>|&]", text) is not None
    return has_operator and not re.search(r"<<<|,", text)
