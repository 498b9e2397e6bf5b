"""Abstract interpretation of the host code that launches a Triton kernel.

Nothing is executed and no module is imported. The statements of each function that launches the kernel are followed
with tensors of which only the shape and the type are known. A condition that is not known is taken as false; a launch
in its branch is found all the same. Parameters of the function are tensors, or have their defaults.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.lab.drafts.host_tensors import HostTensors
from gpuregress.lab.drafts.host_values import (
    Buffer,
    Constant,
    Group,
    Mapped,
    Method,
    Number,
    Sizes,
    Tensor,
    Unknown,
    UnknownShape,
    Value,
    arithmetic,
    binary,
    comparison,
    literal,
    logic,
    truth_of,
)
from gpuregress.toolchain.python_kernels import local_modules

_SIZE = 64
"""Of a whole number that a function takes, and that may be a block."""
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


class _Kernel:
    """The kernel that is looked for."""


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
        self._tensors = HostTensors()
        self._depth = 0
        self._source = _HostModule(source)
        self._module = self._source
        self._tuned = self._first_configuration()
        self.launches: list[Launch] = []

    def follow(self, module: _HostModule, function: ast.FunctionDef) -> None:
        """Follow a function from outside."""
        self._tensors = HostTensors()
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
            return self._tensors.sizes.new(parameter.arg, _SIZE, is_named=True)
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
                names[name] = arithmetic(op, names.get(name, Unknown()), self._value(value, names, ""))
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
        truth = truth_of(self._value(node.test, names, ""))
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
                self._tensors.sizes.rename(value, target.id)
            names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            values = self._unpacked(value, target.elts)
            for inner, part in zip(target.elts, values, strict=False):
                self._bind(inner.value if isinstance(inner, ast.Starred) else inner, part, names)

    def _unpacked(self, value: Value, targets: Sequence[ast.expr]) -> list[Value]:
        count = len(targets)
        starred = [position for position, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if isinstance(value, UnknownShape):
            value = Group(self._tensors.axes(value.tensor, count))
        if not isinstance(value, Group):
            return [Unknown()] * count
        values = value.values
        if starred:
            first, after = starred[0], count - starred[0] - 1
            middle = Group(values[first : len(values) - after])
            values = [*values[:first], middle, *values[len(values) - after :]]
        return [*values, *[Unknown()] * (count - len(values))]

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
                    tensor.shape = [size] if index.value == 0 else [*self._tensors.axes(tensor, 2)[:1], size]
                    return
            if isinstance(one, ast.Attribute) and one.attr == "ndim":
                tensor, size = self._value(one.value, names, ""), self._value(other, names, "")
                if isinstance(tensor, Tensor) and tensor.shape is None and isinstance(size, Number):
                    self._tensors.axes(tensor, int(size.value))
            if isinstance(one, ast.Attribute) and one.attr == "shape":
                tensor, shape = self._value(one.value, names, ""), self._value(other, names, "")
                if isinstance(tensor, Tensor) and tensor.shape is None:
                    if isinstance(shape, UnknownShape):
                        tensor.shape = self._tensors.axes(shape.tensor, 2)
                    elif isinstance(shape, Group) and all(isinstance(part, Number) for part in shape.values):
                        tensor.shape = [part for part in shape.values if isinstance(part, Number)]

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
                return self._tensors.attribute(self._value(owner, names, ""), name)
            case ast.Subscript(value=owner, slice=index):
                return self._element(self._value(owner, names, ""), self._value(index, names, ""), hint)
            case ast.Call():
                return self._call(node, names, hint)
            case ast.BinOp(left=left, op=op, right=right):
                return arithmetic(op, self._value(left, names, ""), self._value(right, names, ""))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._value(operand, names, "")
                return binary("-", literal(0), inner) if isinstance(inner, Number) else Unknown()
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = truth_of(self._value(operand, names, ""))
                return Unknown() if truth is None else Constant(not truth)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return comparison(op, self._value(left, names, ""), self._value(right, names, ""))
            case ast.BoolOp(op=op, values=values):
                return logic(isinstance(op, ast.And), [self._value(value, names, "") for value in values])
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

    def _mapping(self, node: ast.Dict, names: dict[str, Value]) -> Mapped:
        values: dict[str, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = self._value(key, names, "") if key is not None else Unknown()
            if isinstance(name, Constant):
                values[str(name.value)] = self._value(value, names, "")
        return Mapped(values)

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
            return Method(Unknown(), imported)
        return Method(Unknown(), name)

    def _group(self, parts: Sequence[ast.expr], names: dict[str, Value]) -> Group:
        values: list[Value] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                values += self._tensors.spread(self._value(part.value, names, ""))
            else:
                values.append(self._value(part, names, ""))
        return Group(values)

    def _element(self, owner: Value, index: Value, hint: str) -> Value:
        if isinstance(owner, _Kernel):
            return Group([owner, index])
        if isinstance(owner, Mapped) and isinstance(index, Constant):
            return owner.values.get(str(index.value), Unknown())
        if not isinstance(index, Number) or not isinstance(index.value, int):
            return Unknown()
        if isinstance(owner, UnknownShape):
            return self._tensors.axis(owner.tensor, index.value, hint)
        if isinstance(owner, Group) and -len(owner.values) <= index.value < len(owner.values):
            return owner.values[index.value]
        return Unknown()

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, names: dict[str, Value], hint: str) -> Value:
        truth = truth_of(self._value(test, names, ""))
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
        if isinstance(called, Method):
            if isinstance(called.owner, Tensor):
                return self._tensors.of_tensor(called.owner, called.name, arguments, keywords, hint)
            return self._tensors.plain(called.name, arguments, keywords, hint)
        return Unknown()

    def _applied(self, function: _Function, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Follow a call of a function of the host code."""
        name = getattr(function.node, "name", "")
        built_in = self._tensors.plain(name, arguments, keywords, "")
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

    # --- the launch ---------------------------------------------------------------------------------------------------

    def _launch(self, node: ast.Call, grid: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> None:
        launch = Launch(f"{self._module.path.name}:{node.lineno}", self._tensors.sizes)
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
            grid = self._applied(grid, [Mapped(launch.values)], {})
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
                    if isinstance(first, Mapped):
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
                        result = self._applied(computed, [Mapped(launch.values)], {})
                        launch.values.setdefault(str(key.value), result)
