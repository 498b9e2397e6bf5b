"""Static slice of Python modules with respect to the definition of one kernel.

A slice is what a value depends on (Weiser, Program Slicing, 1981). A file with kernels also has the host code around
them, which imports PyTorch and much else. None of that decides what a kernel is compiled to. So only a slice of the
file, and of the modules that it imports, is executed: the kernel, what its body and its decorators read, what these
statements read, and so on. The other statements, with their imports, are left out, whether or not the modules are
installed: the same slice is taken on every host.

A module-level `if` is kept with those of its statements that are needed. Every other compound statement is kept whole,
because an exception in a `try`, for instance, decides what is bound after it. A statement counts for a name if it binds
it, or may change its object: `CONFIGS.append(…)`. If a name is bound in no statement that can be found, its module is
kept whole. A decorator of the name `…autotune` is left out, except where the list of configurations is what is asked
for: it decides what a kernel is launched with, which is in the job.

An import of a missing module outside of a `try` is replaced by a stand-in, which raises where it is used at all.
"""

from __future__ import annotations

import ast
import builtins
import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from gpuregress.foundation.usermodules import PartialImport
from gpuregress.gpu.records import Record
from gpuregress.toolchain.python_kernels import local_modules, name_uses, stand_ins
from gpuregress.toolchain.python_kernels.name_uses import Chain

_STAND_IN = "__gpuregress_stand_in"
_STAR = "*"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class SlicedModule(Record):
    """What is kept of one file.

    Attributes:
        path: of the file.
        content: of the whole file.
        tree: the kept statements, with their places in the file.
        imports: module that a kept statement imports, relative ones with dots → the files that it leads to.
    """

    path: Path
    content: bytes
    tree: ast.Module
    imports: dict[str, tuple[Path, ...]]


class ProgramSlice(Record):
    """The modules of a slice.

    Attributes:
        modules: those with kept statements, in the order in which they are reached, the source first.
        replaced: missing module that a stand-in replaces → the first line that imports it, `k.py:3`.
        left_out: missing module of an import that is not kept → its line.
    """

    modules: tuple[SlicedModule, ...]
    replaced: dict[str, str]
    left_out: dict[str, str]


def of_function(path: Path, function: str, *, with_tuning: bool = False) -> ProgramSlice:
    """Take the slice of a kernel.

    Args:
        path: the source.
        function: the kernel's name in it.
        with_tuning: keep its `@triton.autotune`, too.

    Raises:
        OSError: the source cannot be read.
        SyntaxError: the source is not Python.
        ValueError: the same: it has a byte 0.
    """
    problem = _module(path, path.read_bytes()).problem
    if problem is not None:
        raise problem
    slicer = _Slicer(path, function, with_tuning=with_tuning)
    slicer.need_kernel()
    return slicer.result()


def partial_import(path: Path, function: str, *, with_tuning: bool = False) -> PartialImport | None:
    """Return what an import executes of the files of a kernel's slice; None where the source is not Python.

    The import of the whole file then reports what is wrong.

    Raises:
        OSError: the source cannot be read.
    """
    try:
        kernel = of_function(path, function, with_tuning=with_tuning)
    except (SyntaxError, ValueError):
        return None
    return PartialImport({os.path.realpath(module.path): module.tree for module in kernel.modules})


class _Statement:
    """A statement of a module, or of the branch of a module-level `if`.

    Attributes:
        node: the statement.
        conditions: the tests of the `if` statements around it.
        bound: names that it binds.
        changed: names of objects that it may change.
    """

    def __init__(self, node: ast.stmt, conditions: tuple[ast.expr, ...]) -> None:
        self.node = node
        self.conditions = conditions
        self.bound = name_uses.bound([node])
        self.changed = name_uses.Changes()

    @cached_property
    def read(self) -> set[Chain]:
        """What it reads; most statements are never asked."""
        return name_uses.read(_without_tuning(self.node))


class _NodeFacts(NamedTuple):
    """What a statement or a function changes, the names that it calls, and those that it mentions."""

    changes: name_uses.Changes
    calls: set[str]
    mentioned: set[str]


class _Module:
    """The statements of one file.

    Attributes:
        path: of the file.
        content: its text.
        tree: its syntax tree, empty where it is not Python.
        problem: why it is not.
        statements: in their order.
        functions: name of a function or a class → its definitions.
    """

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = content
        self.problem: SyntaxError | ValueError | None = None
        try:
            self.tree = ast.parse(content)
        except (SyntaxError, ValueError) as problem:
            self.problem = problem
            self.tree = ast.Module([], [])
        self.statements = list(_flattened(self.tree.body, ()))
        self.functions: dict[str, list[_Statement]] = {}
        for statement in self.statements:
            if isinstance(statement.node, _DEFINITIONS):
                self.functions.setdefault(statement.node.name, []).append(statement)
        self._known: dict[ast.AST, _NodeFacts] = {}
        self._aliases: dict[str, set[str]] = {}
        for statement in self.statements:
            if not isinstance(statement.node, (*_DEFINITIONS, ast.Import, ast.ImportFrom)):
                for name, others in name_uses.aliases(statement.node).items():
                    self._aliases.setdefault(name, set()).update(others)
        for statement in self.statements:
            if not isinstance(statement.node, ast.Import | ast.ImportFrom):
                statement.changed = self.changes(name_uses.executed(_without_tuning(statement.node)))

    @cached_property
    def listed(self) -> set[str] | None:
        """The names in `__all__`, where it is a list of texts; None where there is none, or it is another."""
        for statement in self.statements:
            if "__all__" in statement.bound and isinstance(statement.node, ast.Assign):
                try:
                    return set(ast.literal_eval(statement.node.value))
                except (ValueError, TypeError):
                    return None
        return None

    @cached_property
    def names_read(self) -> set[str]:
        """The names that any of the statements reads."""
        return {chain[0] for statement in self.statements for chain in statement.read}

    def _facts(self, node: ast.AST) -> _NodeFacts:
        """What a statement or a function does itself: a function is mentioned by many statements."""
        if node not in self._known:
            changes = name_uses.Changes()
            changes.add(node, self.functions)
            calls: set[str] = set()
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
                    calls.add(inner.func.id)
            self._known[node] = _NodeFacts(changes, calls, {chain[0] for chain in name_uses.read(node)})
        return self._known[node]

    def changes(self, nodes: Iterable[ast.AST]) -> name_uses.Changes:
        """Tell what code may change, also through the module's functions that it mentions, and by other names."""
        changes = name_uses.Changes()
        waiting = list(nodes)
        aliases = {name: set(others) for name, others in self._aliases.items()}
        for node in waiting:
            for name, others in name_uses.aliases(node).items():
                aliases.setdefault(name, set()).update(others)
        seen: set[str] = set()
        while waiting:
            facts = self._facts(waiting.pop())
            changes.assigned |= facts.changes.assigned
            changes.called |= facts.changes.called
            changes.called |= facts.calls & aliases.keys()  # perhaps methods of objects, as in `add = SIZES.append`
            for name in name_uses.with_aliases(facts.mentioned, aliases) - seen:
                seen.add(name)
                waiting += [function.node for function in self.functions.get(name, ())]
        changes.assigned = name_uses.with_aliases(changes.assigned, aliases)
        changes.called = name_uses.with_aliases(changes.called, aliases)
        return changes


@lru_cache(maxsize=256)
def _module(path: Path, content: bytes) -> _Module:
    return _Module(path, content)


def _flattened(body: Iterable[ast.stmt], conditions: tuple[ast.expr, ...]) -> Iterator[_Statement]:
    for node in body:
        if isinstance(node, ast.If):
            inner = (*conditions, node.test)
            yield from _flattened(node.body, inner)
            yield from _flattened(node.orelse, inner)
        else:
            yield _Statement(node, conditions)


class _Slicer:
    """Worklist of the names that are needed.

    Args:
        source: the file of the kernel.
        function: the kernel.
        with_tuning: keep its `@triton.autotune`.
    """

    def __init__(self, source: Path, function: str, *, with_tuning: bool) -> None:
        self._source = source
        self._function = function
        self._with_tuning = with_tuning
        self._tops = local_modules.top_folders(source)
        self._files: dict[tuple[str, Path], Path | None] = {}
        self._modules: dict[Path, _Module] = {}
        self._needed: set[tuple[Path, Chain]] = set()
        self._kept: dict[Path, dict[int, set[str]]] = {}
        self._imports: dict[Path, dict[str, tuple[Path, ...]]] = {}
        self._replaced: dict[str, str] = {}
        self._waiting: list[tuple[Path, Chain]] = []
        self._foreign: dict[tuple[Path, str], bool] = {}

    def need_kernel(self) -> None:
        """Keep what decides the kernel."""
        self._ask(self._source, (self._function,))
        while self._waiting:
            self._find(*self._waiting.pop())
            if not self._waiting:
                self._keep_effects()

    def result(self) -> ProgramSlice:
        """The slice, once nothing more is needed."""
        modules: list[SlicedModule] = []
        left_out: dict[str, str] = {}
        for path, kept in self._kept.items():
            module = self._modules[path]
            tree = self._tree(module, kept)
            modules.append(SlicedModule(path, module.content, tree, self._imports.get(path, {})))
            self._note_left_out(module, kept, left_out)
        return ProgramSlice(tuple(modules), self._replaced, left_out)

    def _keep_effects(self) -> None:
        """Keep what may change another module of the slice: a call of one of its functions as a statement.

        `import patches`, of a name that the file never reads, is kept for what the module does when it is executed.
        """
        for path in list(self._kept):
            module = self._modules[path]
            for number, statement in enumerate(module.statements):
                node = statement.node
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and number not in self._kept[path]:
                    targets = [self._origin(module, chain[0]) for chain in name_uses.read(node.value.func)]
                    if any(self._kept.get(target) for target in targets if target is not None):
                        self._keep(module, number, (_STAR,))
                elif isinstance(node, _DEFINITIONS) and number not in self._kept[path]:
                    chains = {chain for part in name_uses.executed(node) for chain in name_uses.read(part)}
                    if any(self._changes_slice(module, chain) for chain in chains):
                        self._keep(module, number, (_STAR,))
                elif isinstance(node, ast.Import) and self._kept[path] and number not in self._kept[path]:
                    self._keep_import_for_effect(module, number, node)

    def _changes_slice(self, module: _Module, chain: Chain) -> bool:
        """Tell whether an imported function may change what is needed of its module, as a decorator that registers."""
        target = self._origin(module, chain[0])
        if target is None or not self._kept.get(target):
            return False
        names = set(chain)
        for statement in module.statements:
            if isinstance(statement.node, ast.ImportFrom):
                names.update(alias.name for alias in statement.node.names if alias.asname == chain[0])
        origin = self._load(target)
        functions = [function.node for name in sorted(names) for function in origin.functions.get(name, ())]
        changes = origin.changes(functions)
        for path, needed in self._needed:
            if path == target and needed[0] in changes and not self._is_foreign(origin, needed[0]):
                return True
        return False

    def _keep_import_for_effect(self, module: _Module, number: int, node: ast.Import) -> None:
        for alias in node.names:
            shown = alias.asname or alias.name.partition(".")[0]
            if self._module_file(alias.name, module) is not None and shown not in module.names_read:
                self._keep(module, number, (shown,))

    def _origin(self, module: _Module, name: str) -> Path | None:
        """Find the file that a name is imported from."""
        for statement in module.statements:
            node = statement.node
            if name not in statement.bound:
                continue
            if isinstance(node, ast.ImportFrom):
                return self._module_file("." * node.level + (node.module or ""), module)
            if isinstance(node, ast.Import):
                return self._module_file(node.names[0].name, module)
        return None

    def _ask(self, path: Path, chain: Chain) -> None:
        """Note that a name of a module is needed, `*` for all of it, with the attributes of it that are read."""
        if (path, chain) not in self._needed:
            self._needed.add((path, chain))
            self._waiting.append((path, chain))

    def _load(self, path: Path) -> _Module:
        if path not in self._modules:
            try:
                content = path.read_bytes()
            except OSError:
                content = b""
            self._modules[path] = _module(path, content)
        return self._modules[path]

    def _find(self, path: Path, chain: Chain) -> None:
        """Keep the statements of a module that decide a name."""
        module = self._load(path)
        self._kept.setdefault(path, {})
        name = chain[0]
        is_bound = False
        for number, statement in enumerate(module.statements):
            if name == _STAR or name in statement.bound:
                is_bound = True
                self._keep(module, number, chain)
            elif _STAR in statement.changed or (name in statement.changed and not self._is_foreign(module, name)):
                self._keep(module, number, chain)
            elif _is_star(statement.node) and not hasattr(builtins, name) and self._keep_star(module, number, chain):
                is_bound = True
        if is_bound or hasattr(builtins, name) or name.startswith("__"):
            return
        if "__getattr__" in module.functions:
            self._ask(path, ("__getattr__",))
        # A kernel may read a name that is nowhere, which its compiler reports.
        if path != self._source or name == self._function:
            self._ask(path, (_STAR,))

    def _is_foreign(self, module: _Module, name: str) -> bool:
        """Tell whether a name is that of something imported from outside, which calls of its methods do not change.

        An assignment to an attribute of it counts.
        """
        # Each statement of a module that may change the name asks.
        key = (module.path, name)
        if key not in self._foreign:
            self._foreign[key] = self._is_imported_from_outside(module, name)
        return self._foreign[key]

    def _is_imported_from_outside(self, module: _Module, name: str) -> bool:
        is_import = False
        for statement in module.statements:
            node = statement.node
            if name in statement.changed.assigned:
                return False
            if name not in statement.bound:
                continue
            if not isinstance(node, ast.Import | ast.ImportFrom):
                return False
            is_import = True
            if self._origin(module, name) is not None:
                return False
        return is_import

    def _module_file(self, name: str, module: _Module) -> Path | None:
        key = (name, module.path.parent)
        if key not in self._files:
            self._files[key] = local_modules.module_file(name, module.path.parent, self._tops)
        return self._files[key]

    def _keep(self, module: _Module, number: int, chain: Chain) -> None:
        statement = module.statements[number]
        node = statement.node
        kept = self._kept[module.path]
        if isinstance(node, ast.Import | ast.ImportFrom):
            kept.setdefault(number, set())
            for alias in node.names:
                shown = alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
                if chain[0] in (shown, _STAR):
                    self._keep_alias(module, node, alias, chain[1:])
                    kept[number].add(alias.name)
        elif number not in kept:
            kept[number] = set()
            self._need_reads(module, statement)
        else:
            return
        for condition in statement.conditions:
            self._need_chains(module, name_uses.read(condition))

    def _need_reads(self, module: _Module, statement: _Statement) -> None:
        node = statement.node
        self._need_chains(module, name_uses.read(node) if self._is_tuned(node) else statement.read)
        for inner in ast.walk(node):
            # Imports in functions and in compound statements are kept as they are.
            if isinstance(inner, ast.Import | ast.ImportFrom):
                for alias in inner.names:
                    self._keep_alias(module, inner, alias, (), is_nested=True)

    def _need_chains(self, module: _Module, chains: Iterable[Chain]) -> None:
        for chain in sorted(chains):
            self._ask(module.path, chain)

    def _keep_star(self, module: _Module, number: int, chain: Chain) -> bool:
        """Keep a `from … import *` if the name may come from it; tell whether it does for sure."""
        node = module.statements[number].node
        assert isinstance(node, ast.ImportFrom)
        name = "." * node.level + (node.module or "")
        target = self._module_file(name, module)
        if target is None:
            kept = self._kept[module.path]
            if _STAR not in kept.setdefault(number, set()):
                kept[number].add(_STAR)
                self._note_import(module, name, (), node.lineno)
            return False
        if not _exports(self._load(target), chain[0]):
            return False
        self._kept[module.path].setdefault(number, set()).add(chain[0])
        self._note_import(module, name, (target,), node.lineno)
        self._ask(target, chain)
        return True

    def _keep_alias(
        self,
        module: _Module,
        node: ast.Import | ast.ImportFrom,
        alias: ast.alias,
        chain: Chain,
        *,
        is_nested: bool = False,
    ) -> None:
        """Keep the import of one name, and what it leads to."""
        if isinstance(node, ast.Import):
            self._keep_module(module, node, alias, chain, is_nested=is_nested)
            return
        name = "." * node.level + (node.module or "")
        target = self._module_file(name, module)
        dot = "" if name.endswith(".") else "."
        inner = self._module_file(f"{name}{dot}{alias.name}", module)
        if alias.name == _STAR:
            if target is not None:
                self._ask(target, (_STAR,))
        elif target not in (None, module.path) and self._is_attribute(target, inner, alias.name):
            assert target is not None
            self._ask(target, (alias.name, *chain))
        elif inner is not None:
            self._need_attribute(inner, chain)
        files = tuple(file for file in (target, inner) if file is not None)
        self._note_import(module, name, files, 0 if is_nested else node.lineno)

    def _is_attribute(self, target: Path | None, inner: Path | None, name: str) -> bool:
        """Tell whether a name of a package is bound in its `__init__.py`, in place of its module of this name."""
        return target is not None and (inner is None or _exports(self._load(target), name, is_star=False))

    def _keep_module(
        self, module: _Module, node: ast.Import, alias: ast.alias, chain: Chain, *, is_nested: bool
    ) -> None:
        """Keep `import a.b.c`, of which the attributes `b.c.x` may be read."""
        parts = alias.name.split(".")
        rest = chain
        if alias.asname is None:
            while len(parts) > 1 and rest[:1] == (parts[1],):
                rest = rest[1:]
                del parts[1]
        target = self._module_file(alias.name, module)
        if target is not None:
            # Where the chain does not go down to the module, another one of its packages is meant: all of it is kept.
            self._need_attribute(target, rest if alias.asname is not None or len(parts) == 1 else ())
        files = () if target is None else (target,)
        self._note_import(module, alias.name, files, 0 if is_nested else node.lineno)

    def _need_attribute(self, target: Path, chain: Chain) -> None:
        """Keep what an attribute of a module needs; without one, all of the module."""
        self._kept.setdefault(target, {})
        module = self._load(target)
        if chain and not _exports(module, chain[0], is_star=False) and target.name == "__init__.py":
            inner = local_modules.module_file(f".{chain[0]}", target.parent, self._tops)
            if inner is not None:
                self._need_attribute(inner, chain[1:])
                return
        self._ask(target, chain or (_STAR,))

    def _note_import(self, module: _Module, name: str, files: tuple[Path, ...], line: int) -> None:
        """Note what an import leads to; one of a missing module, at a line of its own, gets a stand-in."""
        known = self._imports.setdefault(module.path, {})
        known[name] = tuple(dict.fromkeys((*known.get(name, ()), *files)))
        if line and not files and not name.startswith(".") and local_modules.is_missing(name, self._tops):
            self._replaced.setdefault(name.partition(".")[0], f"{module.path.name}:{line}")

    def _note_left_out(self, module: _Module, kept: dict[int, set[str]], left_out: dict[str, str]) -> None:
        for number, statement in enumerate(module.statements):
            node = statement.node
            if number in kept or not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [] if node.level else [node.module or ""]
            for name in names:
                package = name.partition(".")[0]
                is_known = package in left_out or package in self._replaced
                if not is_known and local_modules.is_missing(package, self._tops):
                    left_out[package] = f"{module.path.name}:{node.lineno}"

    # --- what is executed ---------------------------------------------------------------------------------------------

    def _tree(self, module: _Module, kept: dict[int, set[str]]) -> ast.Module:
        numbers = {id(statement.node): number for number, statement in enumerate(module.statements)}
        body: list[ast.stmt] = []
        for node in module.tree.body:
            body += self._rendered(module, node, numbers, kept)
        tree = ast.Module(body, [])
        ast.fix_missing_locations(tree)
        return tree

    def _rendered(
        self, module: _Module, node: ast.stmt, numbers: dict[int, int], kept: dict[int, set[str]]
    ) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            return self._rendered_if(module, node, numbers, kept)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return [node]
        number = numbers[id(node)]
        if number not in kept:
            return []
        if isinstance(node, ast.Import | ast.ImportFrom):
            return self._rendered_import(module, node, kept[number])
        return [_without_annotations(node if self._is_tuned(node) else _without_tuning(node))]

    def _is_tuned(self, node: ast.stmt) -> bool:
        return self._with_tuning and isinstance(node, ast.FunctionDef) and node.name == self._function

    def _rendered_if(
        self, module: _Module, node: ast.If, numbers: dict[int, int], kept: dict[int, set[str]]
    ) -> list[ast.stmt]:
        branches: list[list[ast.stmt]] = []
        for branch in (node.body, node.orelse):
            statements: list[ast.stmt] = []
            for inner in branch:
                statements += self._rendered(module, inner, numbers, kept)
            branches.append(statements)
        body, orelse = branches
        if not body and not orelse:
            return []
        return [ast.copy_location(ast.If(node.test, body or [ast.copy_location(ast.Pass(), node)], orelse), node)]

    def _rendered_import(self, module: _Module, node: ast.Import | ast.ImportFrom, names: set[str]) -> list[ast.stmt]:
        kept = [alias for alias in node.names if alias.name in names]
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            if any(alias.name == _STAR for alias in node.names) and _STAR not in names:
                kept = [ast.alias(shown) for shown in sorted(names)]
            if node.level or not local_modules.is_missing(name, self._tops):
                return [ast.copy_location(ast.ImportFrom(node.module, kept, node.level), node)]
            return self._stand_ins(module, node, [(f"{name}.{one.name}", one.asname or one.name) for one in kept])
        present = [alias for alias in kept if not local_modules.is_missing(alias.name, self._tops)]
        missing: list[tuple[str, str]] = []
        for alias in kept:
            if alias not in present:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                missing.append((whole, alias.asname or whole))
        rendered: list[ast.stmt] = []
        if present:
            rendered.append(ast.copy_location(ast.Import(present), node))
        if missing:
            rendered += self._stand_ins(module, node, missing)
        return rendered

    def _stand_ins(self, module: _Module, node: ast.stmt, wanted: Sequence[tuple[str, str]]) -> list[ast.stmt]:
        """Write assignments of stand-ins: what each stands for, and the name that gets it."""
        maker = ast.ImportFrom(stand_ins.__name__, [ast.alias(stand_ins.StandIn.__name__, _STAND_IN)], 0)
        statements: list[ast.stmt] = [ast.copy_location(maker, node)]
        for whole, name in wanted:
            values = (whole, str(module.path), node.lineno, name)
            call = ast.Call(ast.Name(_STAND_IN, ast.Load()), [ast.Constant(value) for value in values], [])
            target = ast.Name("__gpuregress_unused" if name == _STAR else name, ast.Store())
            statements.append(ast.copy_location(ast.Assign([target], call), node))
        return statements


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name == _STAR for alias in node.names)


def _exports(module: _Module, name: str, *, is_star: bool = True) -> bool:
    """Tell whether a module binds a name, and `from … import *` takes it."""
    listed = module.listed if is_star else None
    if listed is not None:
        return name in listed
    for statement in module.statements:
        if name in statement.bound:
            return not (is_star and name.startswith("_"))
        if _is_star(statement.node):
            return not name.startswith("_")
    return False


def _without_tuning(node: ast.stmt) -> ast.stmt:
    """Take the decorators of an autotuner from a function."""
    if not isinstance(node, ast.FunctionDef):
        return node
    left = [decorator for decorator in node.decorator_list if not _decorator(decorator).endswith("autotune")]
    if len(left) == len(node.decorator_list):
        return node
    function = copy.copy(node)
    function.decorator_list = left
    return function


def _decorator(node: ast.expr) -> str:
    named = node.func if isinstance(node, ast.Call) else node
    return str(getattr(named, "attr", getattr(named, "id", "")))


def _without_annotations(node: ast.stmt) -> ast.stmt:
    """Copy a statement without the annotations that no compiler reads: they may be of missing modules."""
    stripped: ast.stmt = _AnnotationRemover().visit(copy.deepcopy(node))
    return stripped


class _AnnotationRemover(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        if not name_uses.is_constexpr(node.annotation):
            node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """The fields of a dataclass or a named tuple are annotations: a class stays as it is."""
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if name_uses.is_constexpr(node.annotation):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)
