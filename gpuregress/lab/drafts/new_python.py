"""Draft of a job for a kernel in Triton or Numba, derived from its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gpuregress.gpu.records import Record

_FLOATS = re.compile(r"eps\w*|\w*scale|a|alpha|beta|p|lr|factor|momentum", re.IGNORECASE)
_EXTENT = re.compile(r"n\w*|m|k|\w*(num|size|len|rows?|col(umn)?s?|elements)\w*", re.IGNORECASE)
_STORES = ("store", "atomic_add", "atomic_max", "atomic_min", "atomic_xchg", "atomic_cas", "atomic_and", "atomic_or")
_BLOCK = 128


class KernelFunction(Record):
    """A kernel in a Python file: its language, `triton` or `numba`, and its definition."""

    language: str
    node: ast.FunctionDef

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name


def kernels(text: str) -> tuple[KernelFunction, ...]:
    """Find the kernels of a Python file: functions below `@triton.jit` or `@cuda.jit`.

    Args:
        text: of the file.

    Raises:
        SyntaxError: it is not Python.
    """
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            marks = [ast.unparse(one).partition("(")[0] for one in node.decorator_list]
            if "cuda.jit" in marks:
                found.append(KernelFunction("numba", node))
            elif any(mark in ("triton.jit", "jit") for mark in marks):
                found.append(KernelFunction("triton", node))
    launched = {word.id for one in found for word in ast.walk(one.node) if isinstance(word, ast.Name)}
    helpers = [one for one in found if one.name in launched]
    return (*(one for one in found if one not in helpers), *helpers)


def lines(kernel: KernelFunction, source: str, others: Sequence[str]) -> Iterator[str]:
    """Write a job, line by line.

    Args:
        kernel: that it tests.
        source: the path of its file, relative to the job.
        others: the names of the file's other kernels.
    """
    draft = _Draft(kernel)
    yield f"# A first job for {kernel.name}: hold every line against what the kernel expects."
    yield f"source: {source}:{kernel.name}"
    yield f"language: {kernel.language}"
    yield "signature:                          # parameter: type"
    for name, kind in draft.types.items():
        yield f'  {name}: "{kind}"'
    if draft.constants:
        yield "constants:                          # tl.constexpr: its value"
        for name, value in draft.constants.items():
            yield f"  {name}: {value}"
    if kernel.language == "triton":
        yield "num_warps: 4"
    yield "parameters:                         # every combination is a case"
    yield "  n: [1000, 4096]"
    yield "buffers:"
    for name in draft.buffers:
        fill = "" if name in draft.written and name not in draft.read else ", fill: {normal: {std: 1.0}}"
        yield f"  {name}: {{dtype: float32, shape: [{', '.join(['n', *['n'] * (draft.axes(name) - 1)])}]{fill}}}"
    yield "launches:                           # the grid is a guess"
    grid = f"ceil(n / {_BLOCK})"  # a guess
    block = "" if kernel.language == "triton" else f", block: [{_BLOCK}]"
    yield f"  - {{grid: [{grid}]{block}, args: [{', '.join(map(draft.argument, draft.types))}]}}"
    both = [name for name in draft.buffers if name in draft.written and name in draft.read]
    if both:
        yield f"dump: [{', '.join(name for name in draft.buffers if name in draft.written)}]"
    yield "# compare:                          # nothing said: every bit of every output must be as accepted"
    yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
    yield "limits: {timeout: 30}"
    if others:
        yield f"# The source's other kernels: {', '.join(others)}"


class _Draft:
    """What the uses of a kernel's parameters tell."""

    def __init__(self, kernel: KernelFunction) -> None:
        self._kernel = kernel
        given = [*kernel.node.args.posonlyargs, *kernel.node.args.args, *kernel.node.args.kwonlyargs]
        self._axes = _subscripts(kernel.node) if kernel.language == "numba" else {}
        loads, stores = _addresses(kernel.node)
        if kernel.language == "numba":
            loads, stores = _indexed(kernel.node)
        self.read, self.written = loads, stores
        constant = [one.arg for one in given if one.annotation and ast.unparse(one.annotation).endswith("constexpr")]
        names = [one.arg for one in given if one.arg not in constant]
        self.buffers = [name for name in names if name in loads | stores or name.endswith("_ptr")]
        self.types = {name: self._type(name) for name in names}
        several = sum("BLOCK" in name.upper() for name in constant) > 1
        self.constants = {name: self._constant(name, several=several) for name in constant}

    def axes(self, name: str) -> int:
        return self._axes.get(name, 1)

    def argument(self, name: str) -> str:
        if name in self.buffers:
            return name
        if "fp" in self.types[name] or "float" in self.types[name]:
            return "{float32: 1.0}"
        return "{int32: n}" if _EXTENT.fullmatch(name) else "{int32: 1}"

    def _type(self, name: str) -> str:
        is_triton = self._kernel.language == "triton"
        if name in self.buffers:
            axes = ", ".join([*[":"] * (self.axes(name) - 1), "::1"])
            return "*fp32" if is_triton else f"float32[{axes}]"
        if _FLOATS.fullmatch(name) and not _EXTENT.fullmatch(name):
            return "fp32" if is_triton else "float32"
        return "i32" if is_triton else "int32"

    def _constant(self, name: str, *, several: bool) -> str:
        defaults = self._kernel.node.args.defaults
        plain = [*self._kernel.node.args.posonlyargs, *self._kernel.node.args.args]
        with_default = dict(zip([one.arg for one in plain][len(plain) - len(defaults) :], defaults, strict=True))
        default = with_default.get(name)
        if isinstance(default, ast.Constant) and default.value is not None:
            return str(default.value).lower() if isinstance(default.value, bool) else str(default.value)
        return ("32" if several else str(_BLOCK)) if "BLOCK" in name.upper() else "16"


def _addresses(node: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """The names whose addresses a Triton kernel loads from and stores to, through assignments too."""
    bases: dict[str, set[str]] = {}
    loads: set[str] = set()
    stores: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            bases.setdefault(one.targets[0].id, set()).update(_summands(one.value))
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.args:
            names = _summands(one.args[0])
            loads |= names if one.func.attr == "load" or one.func.attr.startswith("atomic") else set()
            stores |= names if one.func.attr in _STORES else set()
    return _reached(loads, bases, node), _reached(stores, bases, node)


def _reached(names: set[str], bases: dict[str, set[str]], node: ast.FunctionDef) -> set[str]:
    """The parameters that come first in a sum, of all that the names are made of."""
    parameters = {one.arg for one in node.args.args}
    waiting, seen = list(names), set(names)
    while waiting:
        for name in bases.get(waiting.pop(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen & parameters


def _summands(value: ast.expr) -> set[str]:
    """The name that a sum begins with: `x + row * stride` is an address in x."""
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        value = value.left
    return {value.id} if isinstance(value, ast.Name) else set()


def _indexed(node: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """The names whose elements a Numba kernel reads and writes."""
    loads: set[str] = set()
    stores: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Subscript):
            loads |= _summands(one.target.value)
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name):
            (loads if isinstance(one.ctx, ast.Load) else stores).add(one.value.id)
    return loads, stores


def _subscripts(node: ast.FunctionDef) -> dict[str, int]:
    """The number of indices of each name that is indexed."""
    return {
        one.value.id: len(one.slice.elts) if isinstance(one.slice, ast.Tuple) else 1
        for one in ast.walk(node)
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)
    }
