"""Names that Python statements bind, read and change in their module.

Names that are local to a function are left out. A read is a chain of attributes, `("torch", "cuda", "is_available")`.
Annotations are not read, but those of `tl.constexpr`: `program_slice` takes the others out.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping

from gpuregress.gpu.graphs import reachable_from

Chain = tuple[str, ...]
_DYNAMIC_CALLS = frozenset({"globals", "vars", "exec", "eval"})
_HARMLESS_CALLS = frozenset({"print", "len", "isinstance", "hasattr", "getattr", "repr", "str", "type", "id"})
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PASSING_CALLS = frozenset(
    (
        *("cast", "chain", "dict", "enumerate", "filter", "getattr", "iter", "list", "map", "max", "min", "next"),
        *("partial", "reversed", "set", "sorted", "tuple", "vars", "zip"),
    )
)
"""Functions whose result may hold an argument or an element of one."""


def is_constexpr(annotation: ast.expr | None) -> bool:
    """Tell whether an annotation makes a parameter or a variable a constant of a Triton kernel."""
    if isinstance(annotation, ast.Constant):
        return str(annotation.value).rpartition(".")[2] == "constexpr"
    return getattr(annotation, "attr", getattr(annotation, "id", "")) == "constexpr"


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind in the scope in which they stand."""
    names: set[str] = set()
    for node in _in_scope(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Import):
            names.update((alias.asname or alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update((alias.asname or alias.name) for alias in node.names if alias.name != "*")
        elif isinstance(node, _NAMED) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


def read(node: ast.AST) -> set[Chain]:
    """Return what a statement reads of its module, in the bodies of its functions, too."""
    chains: set[Chain] = set()
    _read([node], frozenset(), chains)
    return chains


def _read(nodes: Iterable[ast.AST], local: frozenset[str], chains: set[Chain]) -> None:
    """Add what code reads of its module, without the names that are local to the functions around it."""
    for node in nodes:
        inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
        names = local
        if isinstance(node, _SCOPES):
            _read(_evaluated_outside(node), local, chains)
            inner = [node.body] if isinstance(node, ast.Lambda) else node.body
            names = local | _locals(node)
        elif isinstance(node, _COMPREHENSIONS):
            names = local | bound(part.target for part in node.generators)
        elif isinstance(node, ast.AnnAssign) and not is_constexpr(node.annotation):
            inner = [node.target] if node.value is None else [node.target, node.value]
        chain: Chain = ()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            chain = (node.id,)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            chain = (node.target.id,)
        elif isinstance(node, ast.Attribute):
            chain = _chain(node)
            inner = [] if chain else inner
        if chain and chain[0] not in local:
            chains.add(chain)
        _read(inner, names, chains)


def _chain(node: ast.Attribute) -> Chain:
    """Return the names of a chain of attributes; none where it begins with something else than a name."""
    names = [node.attr]
    base = node.value
    while isinstance(base, ast.Attribute):
        names.insert(0, base.attr)
        base = base.value
    return (base.id, *names) if isinstance(base, ast.Name) else ()


def _evaluated_outside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    """Yield what of a function is evaluated when it is defined: decorators, defaults, annotations of constants."""
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list
    for _, default in _defaults(node.args):
        yield default
    for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if parameter.annotation is not None and is_constexpr(parameter.annotation):
            yield parameter.annotation


class Changes:
    """Names of objects that a statement may change without binding them; `*`: any.

    Attributes:
        assigned: the base of `x[0] = …`, `x.y = …` and `setattr(x, …)`.
        called: the base of `x.append(…)` and of `map(x.append, …)`, and what a function gets as an argument that is not
            one of Python's, or is called as a statement.
    """

    def __init__(self) -> None:
        self.assigned: set[str] = set()
        self.called: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.assigned or name in self.called

    def add(self, node: ast.AST, functions: Iterable[str]) -> None:
        """Add what a statement or a function may change.

        Args:
            node: the statement.
            functions: names of the module's functions and classes, which no call changes.
        """
        assigned: set[str] = set()
        called: set[str] = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute | ast.Subscript) and not isinstance(inner.ctx, ast.Load):
                assigned.add(_base(inner))
            elif isinstance(inner, ast.Attribute) and inner.attr == "modules" and _base(inner) == "sys":
                assigned.add("*")
            elif isinstance(inner, ast.Global):
                assigned.update(inner.names)
            elif isinstance(inner, ast.Call):
                name = inner.func.id if isinstance(inner.func, ast.Name) else ""
                if name in _DYNAMIC_CALLS:
                    assigned.add("*")
                if isinstance(inner.func, ast.Attribute):
                    called.add(_base(inner.func))
                called.update(_base(value) for value in inner.args if isinstance(value, ast.Attribute))
                if name and not hasattr(builtins, name):
                    called |= _arguments(inner) - set(functions)
                if name == "setattr" and inner.args:
                    assigned.add(_base(inner.args[0]))
            elif isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
                called |= _arguments(inner.value) - set(functions)
        local = {""}
        known = aliases(node)
        if isinstance(node, _SCOPES):
            local |= _locals(node)
            for parameter, default in _defaults(node.args):
                known.setdefault(parameter.arg, set()).update(_held(default))
        self.assigned |= with_aliases(assigned, known) - local
        self.called |= with_aliases(called, known) - local


def executed(node: ast.stmt) -> list[ast.AST]:
    """Return what of a statement is executed when the statement is: of functions their decorators and defaults."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*_decorations(node), *(default for _, default in _defaults(node.args))]
    if not isinstance(node, ast.ClassDef):
        return [node]
    parts: list[ast.AST] = [*_decorations(node), *node.bases, *node.keywords]
    for inner in node.body:
        parts += executed(inner)
    return parts


def _decorations(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.Call]:
    """The calls of a definition's decorators."""
    return [ast.Call(decorator, [], []) for decorator in node.decorator_list]


def aliases(node: ast.AST) -> dict[str, set[str]]:
    """Return the names that may get an object of other names, or a part of it: `c = CONFIG`, `for c in CONFIGS`."""
    known: dict[str, set[str]] = {}
    for inner in ast.walk(node):
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(inner, ast.Assign):
            targets, value = inner.targets, inner.value
        elif isinstance(inner, ast.AnnAssign | ast.NamedExpr):
            targets, value = [inner.target], inner.value
        elif isinstance(inner, ast.For | ast.AsyncFor | ast.comprehension):
            targets, value = [inner.target], inner.iter
        elif isinstance(inner, ast.withitem) and inner.optional_vars is not None:
            targets, value = [inner.optional_vars], inner.context_expr
        if value is None:
            continue
        holders = {_base(target) for target in targets if isinstance(target, ast.Attribute | ast.Subscript)} - {""}
        for name in bound(targets) | holders:
            known.setdefault(name, set()).update(_held(value) - {name})
    return known


def with_aliases(names: Iterable[str], known: Mapping[str, Iterable[str]]) -> set[str]:
    """Add the names whose objects other names may be aliases of.

    Args:
        names: what is changed.
        known: alias → names.
    """
    return set(reachable_from(names, lambda name: known.get(name, ())))


def _held(value: ast.expr) -> set[str]:
    """The names of the objects that the value of an expression may be, contain, or be a method or a part of."""
    if isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Starred):
        base: ast.expr = value
        while isinstance(base, ast.Attribute | ast.Subscript | ast.Starred):
            base = base.value
        return {base.id} if isinstance(base, ast.Name) else _held(base)
    parts: list[ast.expr] = []
    if isinstance(value, ast.Lambda):
        return {chain[0] for chain in read(value)}
    if isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    elif isinstance(value, ast.BoolOp):
        parts = value.values
    elif isinstance(value, ast.List | ast.Tuple | ast.Set):
        parts = value.elts
    elif isinstance(value, ast.Dict):
        parts = value.values
    elif isinstance(value, ast.NamedExpr | ast.Await):
        parts = [value.value]
    elif isinstance(value, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        parts = [value.elt, *(generator.iter for generator in value.generators)]
    elif isinstance(value, ast.Call):
        function = value.func
        name = getattr(function, "attr", getattr(function, "id", ""))
        if name in _PASSING_CALLS:
            parts = [*value.args, *(keyword.value for keyword in value.keywords)]
        elif isinstance(function, ast.Attribute):
            parts = [function.value]  # as in `CONFIGS.get(0)`
    names: set[str] = set()
    for part in parts:
        names |= _held(part)
    return names


def _defaults(given: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Yield the parameters that have defaults."""
    positional = [*given.posonlyargs, *given.args]
    yield from zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True)
    for parameter, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if default is not None:
            yield parameter, default


def _arguments(call: ast.Call) -> set[str]:
    if isinstance(call.func, ast.Name) and call.func.id in _HARMLESS_CALLS:
        return set()
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {value.id for value in values if isinstance(value, ast.Name)}


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _in_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Walk through statements, but not into functions, classes and comprehensions, which have names of their own."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _COMPREHENSIONS):
            # `(x := …)` in a comprehension binds outside of it.
            waiting += [inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)]
        elif not isinstance(node, (*_SCOPES, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _locals(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    names = {parameter.arg for parameter in parameters if parameter is not None}
    if isinstance(function, ast.Lambda):
        return names
    names |= bound(function.body)
    for inner in _in_scope(function.body):
        if isinstance(inner, ast.Global):
            names -= set(inner.names)
    return names
