"""Host code of a source as records: its functions, launches, calls, variables and macros.

The texts are the source's own words without comments: nothing is evaluated. A draft of a job is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from gpuregress.frozen import dataclass
from gpuregress.toolchain.host_code import declarations, grammar
from gpuregress.toolchain.host_code.declarations import View
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macro, Macros, has_annotation

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class HostParameter:
    """A parameter of a host function; `type` with `*` and `&`, `name` and `default` may be ""."""

    type: str
    name: str
    default: str = ""


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A function that runs on the host.

    Attributes:
        name: without namespaces.
        parameters: in order.
        line: of its first word, counted from 1.
        last_line: of its closing brace.
    """

    name: str
    parameters: tuple[HostParameter, ...]
    line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """A launch `kernel<<<grid, block, shared, stream>>>(arguments)`.

    Attributes:
        kernel: as it is spelled: `a::k<float, 16>`.
        configuration: two to four texts: grid, block, dynamic shared memory, stream.
        arguments: their texts.
        function: the host function that it is in; "" in none, as in a macro.
        line: counted from 1.
    """

    kernel: str
    configuration: tuple[str, ...]
    arguments: tuple[str, ...]
    function: str
    line: int


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call in host code, as of `cudaMalloc`, `cudaMemcpyToSymbol`, `malloc`.

    Attributes:
        name: as it is spelled, with namespaces and template arguments: `std::max<int>`, `vector.resize`.
        arguments: their texts.
        target: the variable that its result initializes or is assigned to, "" without one.
        function: the host function that it is in.
        line: counted from 1.
    """

    name: str
    arguments: tuple[str, ...]
    target: str
    function: str
    line: int


@dataclass(frozen=True, slots=True)
class HostVariable:
    """A variable of host code, local or global, or a new value that it is assigned.

    Attributes:
        name: the variable's.
        type: its type as it is spelled, with `*`, and `[…]` of an array: `const int`, `std::vector<float>`, `float*`;
            "" for an assignment.
        value: the initializer's text, "" without one; of `T v(a, b)` and `T v{a, b}` the brackets with their contents:
            `(a, b)`.
        function: the host function that it is in; "" at namespace scope.
        line: counted from 1.
    """

    name: str
    type: str
    value: str
    function: str
    line: int


@dataclass(frozen=True, slots=True)
class HostCode:
    """What the host code of a source says.

    Attributes:
        functions: of the host, in the text's order.
        launches: likewise.
        calls: likewise; those inside others, too.
        variables: likewise, with assignments; those of the host's functions and of namespaces.
        macros: by name.
    """

    functions: tuple[HostFunction, ...]
    launches: tuple[HostLaunch, ...]
    calls: tuple[HostCall, ...]
    variables: tuple[HostVariable, ...]
    macros: Mapping[str, tuple[Macro, ...]]


_Record = TypeVar("_Record", HostFunction, HostLaunch, HostCall, HostVariable)


def read(text: str) -> HostCode:
    """Read the host code of a C++ text.

    Args:
        text: a source's; the files that it includes are not looked at.
    """
    source = CxxText(text)
    macros = Macros([source.macros])
    readers = [_Reader(view, macros) for view in declarations.views(source, macros)]
    for reader in readers:
        reader.read()
    return HostCode(
        _merged(reader.functions for reader in readers),
        _merged(reader.launches for reader in readers),
        _merged(reader.calls for reader in readers),
        _merged(reader.variables for reader in readers),
        source.macros,
    )


def _merged(lists: Iterable[Iterable[tuple[int, _Record]]]) -> tuple[_Record, ...]:
    """Join what the views show, each once, in the text's order."""
    found = dict.fromkeys(one for records in lists for one in records)
    return tuple(record for _, record in sorted(found, key=lambda one: one[0]))


class _Reader:
    """One pass over the host functions of a view; each record has its offset."""

    def __init__(self, view: View, macros: Macros) -> None:
        self._view, self._macros = view, macros
        self._function = ""
        self.functions: list[tuple[int, HostFunction]] = []
        self.launches: list[tuple[int, HostLaunch]] = []
        self.calls: list[tuple[int, HostCall]] = []
        self.variables: list[tuple[int, HostVariable]] = []

    def read(self) -> None:
        """Read the functions and variables at namespace scope and of classes."""
        for node in grammar.descendants(self._view.tree, "function_definition", "declaration"):
            if node.type == "declaration":
                self._function = ""
                self._look(node)
            elif node.child_by_field_name("body") is not None and not self._is_device(node):
                self._read_function(node)

    def _is_device(self, node: Node) -> bool:
        body = node.child_by_field_name("body")
        assert body is not None
        before = len(self._view.parsed[: node.start_byte].rstrip())
        return has_annotation(self._view.code[before : body.start_byte], self._macros.annotations)

    def _read_function(self, node: Node) -> None:
        declarator = node.child_by_field_name("declarator")
        self._function = declarations.declared_name(declarator) if declarator is not None else ""
        parameters = next(grammar.everywhere(declarator, "parameter_list"), None) if declarator is not None else None
        shown = tuple(map(self._parameter, parameters.named_children)) if parameters is not None else ()
        lines = (self._line(node.start_byte), self._line(node.end_byte))
        self.functions.append((node.start_byte, HostFunction(self._function, shown, *lines)))
        body = node.child_by_field_name("body")
        assert body is not None
        self._look(body)

    def _parameter(self, node: Node) -> HostParameter:
        declarator, given = node.child_by_field_name("declarator"), node.child_by_field_name("default_value")
        name = declarations.declared_name(declarator) if declarator is not None else ""
        default = self._text(given) if given is not None else ""
        end = given.start_byte if given is not None else node.end_byte
        text = _one_line(self._view.code[node.start_byte : end]).rstrip("= ")
        return HostParameter(_without_name(text, name), name, default)

    def _look(self, node: Node) -> None:
        for one in grammar.everywhere(node, "call_expression", "declaration", "assignment_expression"):
            if one.type == "call_expression":
                self._call(one)
            elif one.type == "declaration":
                for declarator in one.children_by_field_name("declarator"):
                    self._variable(one, declarator)
            else:
                left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
                if left is not None and right is not None and _is_plain(one):
                    value = self._text(right)
                    self._add_variable(one, HostVariable(self._text(left), "", value, *self._where(one)))

    def _call(self, node: Node) -> None:
        called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or arguments is None or arguments.type != "argument_list":
            return
        given = self._texts(arguments)
        configuration = next((one for one in node.named_children if one.type == "kernel_call_syntax"), None)
        where = self._where(node)
        if configuration is not None:
            launch = HostLaunch(self._text(called), self._texts(configuration), given, *where)
            self.launches.append((node.start_byte, launch))
        else:
            call = HostCall(self._text(called), given, self._target(node), *where)
            self.calls.append((node.start_byte, call))

    def _target(self, node: Node) -> str:
        """The variable that a call's result goes to, also through a cast."""
        parent = node.parent
        while parent is not None and parent.type in ("cast_expression", "parenthesized_expression"):
            parent = parent.parent
        if parent is None or parent.type not in ("init_declarator", "assignment_expression"):
            return ""
        left = parent.child_by_field_name("declarator" if parent.type == "init_declarator" else "left")
        if left is None or left.start_byte == node.start_byte:
            return ""
        return declarations.declared_name(left) if parent.type == "init_declarator" else self._text(left)

    def _variable(self, node: Node, declarator: Node) -> None:
        name, value = declarations.declared_name(declarator), ""
        given = node.child_by_field_name("type")
        if declarator.type == "init_declarator":
            initializer = declarator.child_by_field_name("value")
            value = self._text(initializer) if initializer is not None else ""
            declarator = declarator.child_by_field_name("declarator") or declarator
        elif declarator.type == "function_declarator":  # `dim3 grid(x, y)` looks like a function's
            parameters = declarator.child_by_field_name("parameters")
            value = self._text(parameters) if parameters is not None else ""
            declarator = declarator.child_by_field_name("declarator") or declarator
        if not name or given is None:
            return
        qualifiers = [self._text(one) for one in node.named_children if one.type == "type_qualifier"]
        shape = _without_name(self._text(declarator), name)
        spelled = " ".join([*qualifiers, self._text(given)]) + shape
        self._add_variable(node, HostVariable(name, spelled, value, *self._where(declarator)))

    def _add_variable(self, node: Node, variable: HostVariable) -> None:
        self.variables.append((node.start_byte, variable))

    def _texts(self, node: Node) -> tuple[str, ...]:
        return tuple(self._text(one) for one in node.named_children)

    def _text(self, node: Node) -> str:
        return _one_line(self._view.code[node.start_byte : node.end_byte])

    def _where(self, node: Node) -> tuple[str, int]:
        return self._function, self._line(node.start_byte)

    def _line(self, offset: int) -> int:
        return self._view.code.count("\n", 0, offset) + 1


def _is_plain(node: Node) -> bool:
    operator = node.child_by_field_name("operator")
    return operator is not None and operator.type == "="


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_name(text: str, name: str) -> str:
    """`float*` of `float* x`, `[4]` of `x[4]`."""
    return re.sub(rf"\s*\b{re.escape(name)}\b\s*", "", text, count=1).strip() if name else text
