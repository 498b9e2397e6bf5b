"""Abstract interpretation of the host code that launches a Triton kernel.

Nothing is executed and no module is imported. The statements of each function that launches the kernel are followed
with tensors of which only the shape and the type are known. A condition that is not known is taken as false; a launch
in its branch is found all the same. Parameters of the function are tensors, or have their defaults.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuregress.lab.drafts.host_values import (
    Buffer,
    Constant,
    Dtype,
    Group,
    Number,
    Sizes,
    Tensor,
    Unknown,
    Value,
    binary,
    ceil_division,
    extreme,
    literal,
    next_power_of_2,
    product,
)
from gpuregress.toolchain.python_kernels import local_modules

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_SIZED_DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
_DTYPES = dict(zip(_SIZED_DTYPES, _SIZED_DTYPES, strict=True)) | {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
}
_SAME_TENSOR = ("contiguous", "to", "detach", "clone", "float", "cuda", "squeeze", "requires_grad_", "view_as")
_MAKERS = (
    "empty",
    "zeros",
    "ones",
    "full",
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "new_empty",
    "new_zeros",
)
_EXTENTS = {1: (1000,), 2: (32, 128), 3: (2, 64, 64), 4: (2, 32, 4, 64), 5: (2, 32, 2, 2, 64)}
"""Sizes of a tensor from outside, by the number of its axes."""
_SIZE = 64
"""Of a whole number that a function takes, and that may be a block."""
_MULTIPROCESSORS = 132
"""Of an H200, which the CPU device models."""
_DEPTH = 4
_MOST_SIBLINGS = 200


class Launch:
    """A launch of the kernel as the host code writes it.

    Attributes:
        place: `softmax.py:40`.
        grid: None: it is not known.
        values: the kernel's parameter → its value.
        given: the parameters that the launch itself passes.
        settings: `num_warps` and others of the compiler.
        sizes: the parameters of the job.
    """

    def __init__(self, place: str, sizes: Sizes) -> None:
        self.place = place
        self.sizes = sizes
        self.grid: list[Number] | None = None
        self.values: dict[str, Value] = {}
        self.given: frozenset[str] = frozenset()
        self.settings: dict[str, int] = {}


class _Function:
    """A function of the host code, with the module that it is in, and the names around it."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda, module: _HostModule, outer: dict[str, Value]) -> None:
        self.node = node
        self.module = module
        self.outer = outer


class _Shape:
    """`x.shape` of a tensor whose axes are not all known."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class _Method:
    """A method of a tensor, or of a module: `torch.empty`."""

    def __init__(self, owner: Value, name: str) -> None:
        self.owner = owner
        self.name = name


class _Kernel:
    """The kernel that is looked for."""


class _Meta:
    """What a grid function and a heuristic are given: the launch's parameters."""

    def __init__(self, values: dict[str, Value]) -> None:
        self.values = values


class _Returned(Exception):
    """A function returned."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class _Raised(Exception):
    """A function raised: the path to it is not one of a launch."""


class _HostModule:
    """The functions and names of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            self.tree = ast.Module([], [])
        self.functions: dict[str, ast.FunctionDef] = {}
        self.assigned: dict[str, ast.expr] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    name = "." * node.level + (node.module or "")
                    self.imported[alias.asname or alias.name] = (name, alias.name)
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.assigned[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self.assigned[node.target.id] = node.value


def launches(source: Path, kernel: ast.FunctionDef) -> list[Launch]:
    """Return the launches of a kernel in its file, or in another one of its folder.

    Args:
        source: the kernel's file.
        kernel: its definition.
    """
    files = [source]
    name = kernel.name.encode()
    siblings = sorted(source.parent.glob("*.py"))[:_MOST_SIBLINGS]
    files += [sibling for sibling in siblings if sibling != source and name in sibling.read_bytes()]
    for file in files:
        module = _HostModule(file)
        interpreter = _Interpreter(source, kernel)
        for function in _launching(module, kernel.name):
            interpreter.follow(module, function)
        if interpreter.launches:
            return interpreter.launches
    return []


def _launching(module: _HostModule, kernel: str) -> list[ast.FunctionDef]:
    """The innermost functions that name a kernel, and are no kernels themselves."""
    functions = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.FunctionDef) or node.name == kernel:
            continue
        if any("jit" in ast.unparse(decorator) for decorator in node.decorator_list):
            continue
        if any(isinstance(inner, ast.Name) and inner.id == kernel for inner in ast.walk(node)):
            functions.append(node)
    return functions


class _Interpreter:
    """Follows functions to the launches of a kernel.

    Args:
        source: the kernel's file.
        kernel: its definition.
    """

    def __init__(self, source: Path, kernel: ast.FunctionDef) -> None:
        self._kernel = kernel
        self._tops = local_modules.top_folders(source)
        self._modules: dict[Path, _HostModule] = {}
        self._sizes = Sizes()
        self._heights: dict[str, Number] = {}
        self._depth = 0
        self._source = _HostModule(source)
        self._module = self._source
        self._tuned = self._first_configuration()
        self.launches: list[Launch] = []

    def follow(self, module: _HostModule, function: ast.FunctionDef) -> None:
        """Follow a function from outside."""
        self._sizes = Sizes()
        self._heights = {}
        self._module = module
        names: dict[str, Value] = {}
        given = function.args
        parameters = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(parameters) - len(given.defaults)) + [*given.defaults]
        for parameter, default in (
            *zip(parameters, defaults, strict=True),
            *zip(given.kwonlyargs, given.kw_defaults, strict=True),
        ):
            names[parameter.arg] = self._outside(parameter, default)
        try:
            self._run(function.body, names)
        except (_Returned, _Raised):
            return

    def _outside(self, parameter: ast.arg, default: ast.expr | None) -> Value:
        """The value of a parameter: its default, or by its annotation, else a tensor."""
        if default is not None:
            return self._value(default, {}, "")
        annotation = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        if annotation == "bool":
            return Constant(value=False)
        if annotation == "int":
            return self._sizes.new(parameter.arg, _SIZE, is_named=True)
        if annotation == "float":
            return literal(1e-05 if "eps" in parameter.arg.lower() else 1.0)
        if annotation == "str" or parameter.arg in ("self", "ctx", "cls"):
            return Unknown()
        if annotation in ("", "float | None") and parameter.arg in ("eps", "epsilon"):
            return literal(1e-05)
        dtype = "int64" if "Long" in annotation else "float32"
        return Buffer(parameter.arg, dtype, None).tensor

    # --- statements ---------------------------------------------------------------------------------------------------

    def _run(self, body: Sequence[ast.stmt], names: dict[str, Value]) -> None:
        for node in body:
            self._step(node, names)

    def _step(self, node: ast.stmt, names: dict[str, Value]) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ) and not any(isinstance(part, ast.Starred) for part in (*targets, *values)):
                hints = [target.id if isinstance(target, ast.Name) else "" for target in targets]
                results = [self._value(part, names, hint) for part, hint in zip(values, hints, strict=True)]
                for target, result in zip(targets, results, strict=True):
                    self._bind(target, result, names)
            case ast.Assign(targets=targets, value=value):
                hint = targets[0].id if isinstance(targets[0], ast.Name) else ""
                result = self._value(value, names, hint)
                for target in targets:
                    self._bind(target, result, names)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                hint = target.id if isinstance(target, ast.Name) else ""
                self._bind(target, self._value(value, names, hint), names)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                names[name] = self._arithmetic(op, names.get(name, Unknown()), self._value(value, names, ""))
            case ast.Expr(value=value):
                self._value(value, names, "")
            case ast.Return(value=value):
                raise _Returned(Unknown() if value is None else self._value(value, names, ""))
            case ast.Raise():
                raise _Raised
            case ast.Assert(test=test):
                self._assume(test, names)
            case ast.If():
                self._branch(node, names)
            case ast.With(items=items, body=body):
                for item in items:
                    self._value(item.context_expr, names, "")
                self._run(body, names)
            case ast.For(target=target, iter=iterated, body=body):
                self._bind(target, self._first(self._value(iterated, names, "")), names)
                self._run(body, names)
            case ast.Try(body=body):
                self._run(body, names)
            case ast.FunctionDef(name=name):
                names[name] = _Function(node, self._module, names)
            case _:
                pass

    def _first(self, iterated: Value) -> Value:
        return iterated.values[0] if isinstance(iterated, Group) and iterated.values else literal(0)

    def _branch(self, node: ast.If, names: dict[str, Value]) -> None:
        if isinstance(node.body[0], ast.Raise):
            self._assume_not(node.test, names)
            self._run(node.orelse, names)
            return
        truth = self._truth(self._value(node.test, names, ""))
        taken, other = (node.body, node.orelse) if truth else (node.orelse, node.body)
        self._look_into(other, names)
        self._run(taken, names)

    def _look_into(self, body: Sequence[ast.stmt], names: dict[str, Value]) -> None:
        """Find launches in a branch that is not taken."""
        try:
            self._run(body, dict(names))
        except (_Returned, _Raised):
            return

    def _bind(self, target: ast.expr, value: Value, names: dict[str, Value]) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Number):
                self._sizes.rename(value, target.id)
            names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            values = self._unpacked(value, target.elts)
            for inner, part in zip(target.elts, values, strict=False):
                self._bind(inner.value if isinstance(inner, ast.Starred) else inner, part, names)

    def _unpacked(self, value: Value, targets: Sequence[ast.expr]) -> list[Value]:
        count = len(targets)
        starred = [position for position, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if isinstance(value, _Shape):
            value = Group(self._axes(value.tensor, count))
        if not isinstance(value, Group):
            return [Unknown()] * count
        values = value.values
        if starred:
            first, after = starred[0], count - starred[0] - 1
            middle = Group(values[first : len(values) - after])
            values = [*values[:first], middle, *values[len(values) - after :]]
        return [*values, *[Unknown()] * (count - len(values))]

    # --- shapes -------------------------------------------------------------------------------------------------------

    def _axes(self, tensor: Tensor, count: int = 0) -> list[Number]:
        """The extents of a tensor; of one from outside that has none yet, as many as are asked for."""
        if tensor.shape is None or (tensor.is_open and len(tensor.shape) < count):
            extents = _EXTENTS.get(count or 1, (4,) * count)
            known = tensor.shape or []
            new = [self._sizes.new(f"{tensor.buffer.name}_{at}", value) for at, value in enumerate(extents)]
            tensor.shape = [*known, *new[len(known) :]]
            tensor.is_open = count == 0
            if tensor is not tensor.buffer.tensor and tensor.buffer.tensor.shape is None:
                tensor.buffer.tensor.shape = list(tensor.shape)
        return tensor.shape

    def _axis(self, tensor: Tensor, index: int, hint: str) -> Value:
        """One extent: `x.shape[-1]` makes a matrix of what is not known."""
        if tensor.shape is None and index not in (0, 1, -1, -2):
            self._axes(tensor, index + 1 if index >= 0 else -index)
        elif tensor.shape is None:
            self._axes(tensor, 2)
        shape = self._axes(tensor)
        if not -len(shape) <= index < len(shape):
            return Unknown()
        if hint:
            self._sizes.rename(shape[index], hint)
        return shape[index]

    def _strides(self, tensor: Tensor) -> list[Number]:
        shape = self._axes(tensor)
        return [product(shape[position + 1 :]) for position in range(len(shape))]

    def _reshaped(self, tensor: Tensor, wanted: Sequence[Value]) -> Value:
        extents: list[Number] = []
        for value in wanted:
            if isinstance(value, _Shape):
                extents += self._axes(value.tensor, 2)
            elif isinstance(value, Group):
                extents += [part for part in value.values if isinstance(part, Number)]
            elif isinstance(value, Number):
                extents.append(value)
            else:
                return Unknown()
        holes = [position for position, extent in enumerate(extents) if extent.value == -1]
        if not holes:
            return Tensor(tensor.buffer, extents)
        position = holes[0]
        others = [extent for extent in extents if extent.value != -1]
        if tensor.shape is None:
            known = " ".join(extent.text for extent in others)
            # Tensors that are seen as matrices of the same width have the same height until something else is known.
            if known not in self._heights:
                self._heights[known] = self._sizes.new(f"{tensor.buffer.name}_{position}", _EXTENTS[2][0])
            tensor.shape = [*extents[:position], self._heights[known], *extents[position + 1 :]]
            return Tensor(tensor.buffer, tensor.shape)
        shape = self._axes(tensor)
        left = list(shape)
        for extent in others:
            for place, axis in enumerate(left):
                if axis.text == extent.text:
                    del left[place]
                    break
            else:
                extents[position] = binary("//", product(shape), product(others))
                return Tensor(tensor.buffer, extents)
        extents[position] = product(left)
        return Tensor(tensor.buffer, extents)

    # --- what is taken for granted ------------------------------------------------------------------------------------

    def _assume(self, test: ast.expr, names: dict[str, Value]) -> None:
        """Learn shapes from `assert x.shape == (n,)` and `assert x.shape[0] == n`."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                self._assume(part, names)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            self._equate(test.left, test.comparators[0], names)

    def _assume_not(self, test: ast.expr, names: dict[str, Value]) -> None:
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.NotEq):
            self._equate(test.left, test.comparators[0], names)

    def _equate(self, left: ast.expr, right: ast.expr, names: dict[str, Value]) -> None:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Attribute) and one.value.attr == "shape":
                tensor = self._value(one.value.value, names, "")
                index = self._value(one.slice, names, "")
                if not isinstance(tensor, Tensor) or tensor.shape is not None or not isinstance(index, Number):
                    continue
                size = self._value(other, names, "")
                if isinstance(size, Number) and index.value in (0, -1):
                    tensor.shape = [size] if index.value == 0 else [*self._axes(tensor, 2)[:1], size]
                    return
            if isinstance(one, ast.Attribute) and one.attr == "ndim":
                tensor, size = self._value(one.value, names, ""), self._value(other, names, "")
                if isinstance(tensor, Tensor) and tensor.shape is None and isinstance(size, Number):
                    self._axes(tensor, int(size.value))
            if isinstance(one, ast.Attribute) and one.attr == "shape":
                tensor, shape = self._value(one.value, names, ""), self._value(other, names, "")
                if isinstance(tensor, Tensor) and tensor.shape is None:
                    if isinstance(shape, _Shape):
                        tensor.shape = self._axes(shape.tensor, 2)
                    elif isinstance(shape, Group) and all(isinstance(part, Number) for part in shape.values):
                        tensor.shape = [part for part in shape.values if isinstance(part, Number)]

    def _truth(self, value: Value) -> bool | None:
        """Tell whether a value is true; None: it is not known."""
        if isinstance(value, Constant):
            return bool(value.value)
        if isinstance(value, Number):
            return bool(value.value)
        if isinstance(value, Group):
            return bool(value.values)
        return None

    # --- expressions --------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, names: dict[str, Value], hint: str) -> Value:
        match node:
            case ast.Constant(value=bool() | str() | None as constant):
                return Constant(constant)
            case ast.Constant(value=int() | float() as number):
                return literal(number)
            case ast.Name(id=name):
                return self._named(name, names)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return self._group(parts, names)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self._value(owner, names, ""), name)
            case ast.Subscript(value=owner, slice=index):
                return self._element(self._value(owner, names, ""), self._value(index, names, ""), hint)
            case ast.Call():
                return self._call(node, names, hint)
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(op, self._value(left, names, ""), self._value(right, names, ""))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._value(operand, names, "")
                return binary("-", literal(0), inner) if isinstance(inner, Number) else Unknown()
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self._truth(self._value(operand, names, ""))
                return Unknown() if truth is None else Constant(not truth)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._comparison(op, self._value(left, names, ""), self._value(right, names, ""))
            case ast.BoolOp(op=op, values=values):
                return self._logic(isinstance(op, ast.And), [self._value(value, names, "") for value in values])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse, names, hint)
            case ast.Lambda():
                return _Function(node, self._module, names)
            case ast.Dict():
                return self._mapping(node, names)
            case ast.ListComp(elt=element, generators=loops):
                inner = dict(names)
                for loop in loops:
                    self._bind(loop.target, self._first(self._value(loop.iter, inner, "")), inner)
                return Group([self._value(element, inner, "")])
            case _:
                return Unknown()

    def _mapping(self, node: ast.Dict, names: dict[str, Value]) -> _Meta:
        values: dict[str, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = self._value(key, names, "") if key is not None else Unknown()
            if isinstance(name, Constant):
                values[str(name.value)] = self._value(value, names, "")
        return _Meta(values)

    def _named(self, name: str, names: dict[str, Value]) -> Value:
        if name in names:
            return names[name]
        if name == self._kernel.name:
            return _Kernel()
        module = self._module
        if name in module.assigned:
            return self._value(module.assigned[name], {}, "")
        if name in module.functions:
            return _Function(module.functions[name], module, {})
        if name in module.imported:
            from_module, imported = module.imported[name]
            path = local_modules.module_file(from_module, module.path.parent, self._tops)
            if path is not None:
                other = self._modules.setdefault(path, _HostModule(path))
                if imported in other.functions:
                    return _Function(other.functions[imported], other, {})
                if imported in other.assigned:
                    return self._value(other.assigned[imported], {}, "")
            return _Method(Unknown(), imported)
        return _Method(Unknown(), name)

    def _group(self, parts: Sequence[ast.expr], names: dict[str, Value]) -> Group:
        values: list[Value] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                values += self._spread(self._value(part.value, names, ""))
            else:
                values.append(self._value(part, names, ""))
        return Group(values)

    def _spread(self, value: Value) -> list[Value]:
        if isinstance(value, _Shape):
            return list(self._axes(value.tensor, 2))
        return value.values if isinstance(value, Group) else [Unknown()]

    def _attribute(self, owner: Value, name: str) -> Value:
        if isinstance(owner, Tensor):
            if name == "shape":
                return _Shape(owner) if owner.shape is None or owner.is_open else Group(owner.shape)
            if name == "dtype":
                return Dtype(owner.buffer.dtype)
            if name == "ndim":
                return literal(len(self._axes(owner, 2)))
            if name == "is_cuda":
                return Constant(value=True)
            if name == "requires_grad":
                return Constant(value=False)
            if name == "data":
                return owner
            return _Method(owner, name)
        if isinstance(owner, _Method) and owner.name == "device" and name == "type":
            return Constant("cuda")
        if isinstance(owner, Constant | Number) and name == "value":
            return owner  # of tl.constexpr
        if isinstance(owner, _Method) and name in _DTYPES and owner.name == "torch":
            return Dtype(_DTYPES[name])
        return _Method(owner, name)

    def _element(self, owner: Value, index: Value, hint: str) -> Value:
        if isinstance(owner, _Kernel):
            return Group([owner, index])
        if isinstance(owner, _Meta) and isinstance(index, Constant):
            return owner.values.get(str(index.value), Unknown())
        if not isinstance(index, Number) or not isinstance(index.value, int):
            return Unknown()
        if isinstance(owner, _Shape):
            return self._axis(owner.tensor, index.value, hint)
        if isinstance(owner, Group) and -len(owner.values) <= index.value < len(owner.values):
            return owner.values[index.value]
        return Unknown()

    def _arithmetic(self, op: ast.operator, left: Value, right: Value) -> Value:
        left, right = self._number(left), self._number(right)
        if type(op) not in _OPERATORS or not isinstance(left, Number) or not isinstance(right, Number):
            return Unknown()
        try:
            return binary(_OPERATORS[type(op)], left, right)
        except ArithmeticError:
            return Unknown()

    def _number(self, value: Value) -> Value:
        """A truth value as a number; a parameter that is calculated with is a whole number."""
        if isinstance(value, Constant) and isinstance(value.value, bool):
            return literal(int(value.value))
        return value

    def _comparison(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        if isinstance(op, ast.Is | ast.IsNot):
            return self._identity(isinstance(op, ast.Is), left, right)
        if isinstance(left, Dtype) and isinstance(right, Dtype) and isinstance(op, ast.Eq | ast.NotEq):
            return Constant((left.name == right.name) == isinstance(op, ast.Eq))
        values: list[Any] = []
        for side in (left, right):
            if not isinstance(side, Number | Constant):
                return Unknown()
            values.append(side.value)
        compare: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
            ast.Eq: lambda x, y: x == y,
            ast.NotEq: lambda x, y: x != y,
            ast.Lt: lambda x, y: x < y,
            ast.LtE: lambda x, y: x <= y,
            ast.Gt: lambda x, y: x > y,
            ast.GtE: lambda x, y: x >= y,
        }
        try:
            return Constant(compare[type(op)](*values))
        except (KeyError, TypeError):
            return Unknown()

    def _identity(self, is_same: bool, left: Value, right: Value) -> Value:  # noqa: FBT001 - `is` or `is not`
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Constant) and one.value is None and not isinstance(other, Unknown | _Method):
                is_none = isinstance(other, Constant) and other.value is None
                return Constant(is_none == is_same)
            if isinstance(one, Dtype) and isinstance(other, Dtype):
                return Constant((one.name == other.name) == is_same)
        return Unknown()

    def _logic(self, is_and: bool, values: Sequence[Value]) -> Value:  # noqa: FBT001 - `and` or `or`
        is_known = True
        for value in values:
            truth = self._truth(value)
            if truth is None:
                is_known = False
            elif truth != is_and:
                return value
        return values[-1] if is_known else Unknown()

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, names: dict[str, Value], hint: str) -> Value:
        truth = self._truth(self._value(test, names, ""))
        chosen, other = self._value(body, names, hint), self._value(orelse, names, hint)
        if isinstance(chosen, _Kernel) or isinstance(other, _Kernel):
            return chosen if isinstance(chosen, _Kernel) else other
        return chosen if truth else other

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, names: dict[str, Value], hint: str) -> Value:
        called = self._value(node.func, names, "")
        arguments = self._group(node.args, names).values
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                keywords[keyword.arg] = self._value(keyword.value, names, "")
        if isinstance(called, Group) and called.values and isinstance(called.values[0], _Kernel):
            self._launch(node, called.values[1], arguments, keywords)
            return Unknown()
        if isinstance(called, _Function):
            return self._applied(called, arguments, keywords)
        if isinstance(called, _Method):
            if isinstance(called.owner, Tensor):
                return self._of_tensor(called.owner, called.name, arguments, keywords, hint)
            return self._plain(called.name, arguments, keywords, hint)
        return Unknown()

    def _applied(self, function: _Function, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Follow a call of a function of the host code."""
        name = getattr(function.node, "name", "")
        built_in = self._plain(name, arguments, keywords, "")
        if not isinstance(built_in, Unknown):
            return built_in
        if self._depth >= _DEPTH:
            return Unknown()
        given = function.node.args
        parameters = [*given.posonlyargs, *given.args]
        local = dict(function.outer)
        defaults = [None] * (len(parameters) - len(given.defaults)) + [*given.defaults]
        for parameter, default in zip(parameters, defaults, strict=True):
            local[parameter.arg] = Unknown() if default is None else self._value(default, {}, "")
        local.update(zip([parameter.arg for parameter in parameters], arguments, strict=False))
        local.update(keywords)
        before, self._module = self._module, function.module
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self._value(function.node.body, local, "")
            self._run(function.node.body, local)
        except _Returned as returned:
            return returned.value
        except _Raised:
            return Unknown()
        finally:
            self._depth -= 1
            self._module = before
        return Unknown()

    def _of_tensor(
        self, tensor: Tensor, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], hint: str
    ) -> Value:
        """A method of a tensor."""
        if name in _SAME_TENSOR:
            return tensor
        if name in ("view", "reshape"):
            return self._reshaped(tensor, arguments)
        if name == "flatten":
            return self._flattened(tensor, arguments)
        if name == "unsqueeze":
            return Tensor(tensor.buffer, [literal(1), *self._axes(tensor)])
        if name in ("numel", "nelement"):
            total = product(self._axes(tensor))
            if hint:
                self._sizes.rename(total, hint)
            return total
        if name == "element_size":
            return literal({"float16": 2, "bfloat16": 2, "float64": 8, "int64": 8}.get(tensor.buffer.dtype, 4))
        if name in ("dim", "ndimension"):
            return literal(len(self._axes(tensor, 2)))
        if name == "is_contiguous":
            return Constant(value=True)
        if name in ("size", "stride"):
            return self._size_or_stride(tensor, name, arguments, hint)
        if name in _MAKERS:
            return self._made(name, arguments, keywords, hint, tensor.buffer.dtype)
        return Unknown()

    def _size_or_stride(self, tensor: Tensor, name: str, arguments: Sequence[Value], hint: str) -> Value:
        if not arguments:
            return _Shape(tensor) if name == "size" else Group(self._strides(tensor))
        index = arguments[0]
        if not isinstance(index, Number):
            return Unknown()
        if name == "size":
            return self._axis(tensor, int(index.value), hint)
        if tensor.shape is None and index.value in (0, -1):
            return literal(1)  # a vector, as far as is known
        strides = self._strides(tensor)
        if -len(strides) <= index.value < len(strides):
            return strides[int(index.value)]
        return Unknown()

    def _flattened(self, tensor: Tensor, arguments: Sequence[Value]) -> Tensor:
        ends = [int(value.value) for value in arguments if isinstance(value, Number)]
        if not ends:
            return Tensor(tensor.buffer, [product(self._axes(tensor))])
        shape = self._axes(tensor, 2)
        first = ends[0] % len(shape)
        last = (ends[1] if len(ends) > 1 else -1) % len(shape)
        return Tensor(tensor.buffer, [*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]])

    def _made(
        self, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], hint: str, dtype: str = "float32"
    ) -> Value:
        """A tensor that the host code allocates."""
        shape: list[Number] = []
        for argument in arguments[:1] if name.endswith("_like") or name.startswith("full") else arguments:
            if isinstance(argument, Tensor):
                dtype = argument.buffer.dtype
                shape += self._axes(argument, 0 if argument.shape else 2)
            elif isinstance(argument, _Shape | Group):
                shape += [part for part in self._spread(argument) if isinstance(part, Number)]
            elif isinstance(argument, Number):
                shape.append(argument)
        given = keywords.get("dtype")
        if isinstance(given, Dtype):
            dtype = given.name
        fill = ""
        if "zeros" in name or "ones" in name:
            fill = "zeros" if "zeros" in name else "ones"
        buffer = Buffer(hint or "buffer", dtype, fill)
        buffer.tensor.shape = shape
        return buffer.tensor

    def _plain(self, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], hint: str) -> Value:
        """A function of Python, PyTorch or Triton."""
        numbers = [value for value in map(self._number, arguments) if isinstance(value, Number)]
        if name in _MAKERS:
            return self._made(name, arguments, keywords, hint)
        if name == "isinstance":
            return Constant(isinstance(arguments[0], Tensor)) if arguments else Unknown()
        if name.endswith("multiprocessor_count"):
            return literal(_MULTIPROCESSORS)
        if name == "Config":
            given = arguments[0].values if arguments and isinstance(arguments[0], _Meta) else {}
            return _Meta({**given, **keywords})
        if name == "len" and arguments and isinstance(arguments[0], Tensor):
            return self._axes(arguments[0])[0]
        if name == "len" and arguments:
            return literal(len(self._spread(arguments[0])))
        if not numbers or len(numbers) != len(arguments):
            return Unknown()
        if name in ("cdiv", "ceil_div") and len(numbers) == 2 and numbers[1].value:
            return ceil_division(*numbers)
        if name == "next_power_of_2":
            return next_power_of_2(numbers[0])
        if name in ("min", "max"):
            return extreme(name, numbers)
        if name == "divmod" and len(numbers) == 2 and numbers[1].value:
            return Group([binary("//", *numbers), binary("%", *numbers)])
        if name in ("int", "float", "constexpr"):
            return numbers[0]
        if name == "ceil":
            return Number(f"ceil({numbers[0].text})", math.ceil(numbers[0].value))
        return Unknown()

    # --- the launch ---------------------------------------------------------------------------------------------------

    def _launch(self, node: ast.Call, grid: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> None:
        launch = Launch(f"{self._module.path.name}:{node.lineno}", self._sizes)
        given = self._kernel.args
        parameters = [parameter.arg for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        launch.values.update(zip(parameters, arguments, strict=False))
        for name, value in keywords.items():
            if name in parameters:
                launch.values[name] = value
            elif isinstance(value, Number):
                launch.settings[name] = int(value.value)
        launch.given = frozenset(launch.values)
        for name, number in self._tuned.items():
            if name in parameters:
                launch.values.setdefault(name, number)
            else:
                launch.settings.setdefault(name, int(number.value))
        before, self._module = self._module, self._source
        self._add_heuristics(launch)
        self._module = before
        if isinstance(grid, _Function):
            grid = self._applied(grid, [_Meta(launch.values)], {})
        if isinstance(grid, Group) and all(isinstance(part, Number) for part in grid.values):
            launch.grid = [part for part in grid.values if isinstance(part, Number)]
        elif isinstance(grid, Number):
            launch.grid = [grid]
        if all(launch.place != other.place for other in self.launches):
            self.launches.append(launch)

    def _first_configuration(self) -> dict[str, Number]:
        """Return the constants and settings of the first configuration of `@triton.autotune`."""
        for decorator in self._kernel.decorator_list:
            if not isinstance(decorator, ast.Call) or not ast.unparse(decorator.func).endswith("autotune"):
                continue
            for keyword in decorator.keywords:
                if keyword.arg == "configs":
                    first = self._first(self._value(keyword.value, {}, ""))
                    if isinstance(first, _Meta):
                        return {name: value for name, value in first.values.items() if isinstance(value, Number)}
        return {}

    def _add_heuristics(self, launch: Launch) -> None:
        """Calculate the constants of `@triton.heuristics`, which the grid may ask for."""
        for decorator in self._kernel.decorator_list:
            if not isinstance(decorator, ast.Call) or "heuristics" not in ast.unparse(decorator.func):
                continue
            for values in (*decorator.args, *(keyword.value for keyword in decorator.keywords)):
                if not isinstance(values, ast.Dict):
                    continue
                for key, function in zip(values.keys, values.values, strict=True):
                    computed = self._value(function, {}, "")
                    if isinstance(key, ast.Constant) and isinstance(computed, _Function):
                        result = self._applied(computed, [_Meta(launch.values)], {})
                        launch.values.setdefault(str(key.value), result)
