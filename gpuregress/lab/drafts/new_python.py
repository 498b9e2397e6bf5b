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
    functions: list[KernelFunction] = []
    called: set[str] = set()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        marks = [ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list]
        if "cuda.jit" in marks:
            functions.append(KernelFunction("numba", node))
        elif "triton.jit" in marks or "jit" in marks:
            functions.append(KernelFunction("triton", node))
        else:
            continue
        called |= {word.id for word in ast.walk(node) if isinstance(word, ast.Name)}
    # Functions that others call are no entry of the file: they come last.
    functions.sort(key=lambda function: function.name in called)
    return tuple(functions)


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
        settings = f"dtype: float32, shape: [{', '.join(['n'] * draft.axes(name))}]"
        if name in draft.read or name not in draft.written:
            settings += ", fill: {normal: {std: 1.0}}"
        yield f"  {name}: {{{settings}}}"
    yield "launches:                           # the grid is a guess"
    geometry = f"grid: [ceil(n / {_BLOCK})]"
    if kernel.language == "numba":
        geometry += f", block: [{_BLOCK}]"
    arguments = [draft.argument(name) for name in draft.types]
    yield f"  - {{{geometry}, args: [{', '.join(arguments)}]}}"
    results = [name for name in draft.buffers if name in draft.written]
    if any(name in draft.read for name in results):  # filled buffers are dumped only where the job says so
        yield f"dump: [{', '.join(results)}]"
    yield "# compare:                          # nothing said: every bit of every output must be as accepted"
    yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
    yield "limits: {timeout: 30}"
    if others:
        yield f"# The source's other kernels: {', '.join(others)}"


class _Draft:
    """What the uses of a kernel's parameters tell."""

    def __init__(self, kernel: KernelFunction) -> None:
        self._kernel = kernel
        self._axes: dict[str, int] = {}
        if kernel.language == "numba":
            self._axes = _subscripts(kernel.node)
            self.read, self.written = _indexed(kernel.node)
        else:
            self.read, self.written = _addresses(kernel.node)
        names: list[str] = []
        constants: list[str] = []
        arguments = kernel.node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            is_constant = argument.annotation and ast.unparse(argument.annotation).endswith("constexpr")
            (constants if is_constant else names).append(argument.arg)
        used = self.read | self.written
        self.buffers = [name for name in names if name in used or name.endswith("_ptr")]
        self.types = {name: self._type(name) for name in names}
        several = len([name for name in constants if "BLOCK" in name.upper()]) > 1
        self.constants = {name: self._constant(name, several=several) for name in constants}

    def axes(self, name: str) -> int:
        return max(1, self._axes.get(name, 1))

    def argument(self, name: str) -> str:
        if name in self.buffers:
            return name
        if "fp" in self.types[name] or "float" in self.types[name]:
            return "{float32: 1.0}"
        if _EXTENT.fullmatch(name):
            return "{int32: n}"
        return "{int32: 1}"

    def _type(self, name: str) -> str:
        is_float = _FLOATS.fullmatch(name) and not _EXTENT.fullmatch(name)
        if self._kernel.language == "triton":
            if name in self.buffers:
                return "*fp32"
            return "fp32" if is_float else "i32"
        if name in self.buffers:
            return f"float32[{', '.join([*[':'] * (self.axes(name) - 1), '::1'])}]"
        return "float32" if is_float else "int32"

    def _constant(self, name: str, *, several: bool) -> str:
        arguments = self._kernel.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
        default = defaults.get(name)
        if isinstance(default, ast.Constant) and default.value is not None:
            if isinstance(default.value, bool):
                return str(default.value).lower()
            return str(default.value)
        if "BLOCK" not in name.upper():
            return "16"
        return "32" if several else str(_BLOCK)


def _addresses(kernel: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Return the names whose addresses a Triton kernel loads from and stores to, through assignments too."""
    bases: dict[str, set[str]] = {}
    loads: set[str] = set()
    stores: set[str] = set()
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            bases.setdefault(node.targets[0].id, set()).update(_first_summand(node.value))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            names = _first_summand(node.args[0])
            if node.func.attr == "load" or node.func.attr.startswith("atomic"):
                loads |= names
            if node.func.attr in _STORES:
                stores |= names
    return _reached(loads, bases, kernel), _reached(stores, bases, kernel)


def _reached(names: set[str], bases: dict[str, set[str]], kernel: ast.FunctionDef) -> set[str]:
    """Return the parameters that come first in a sum, of all that the names are made of."""
    waiting = list(names)
    seen = set(names)
    while waiting:
        for name in bases.get(waiting.pop(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen & {argument.arg for argument in kernel.args.args}


def _first_summand(value: ast.expr) -> set[str]:
    """Return the name that a sum begins with: `x + row * stride` is an address in x."""
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        value = value.left
    if isinstance(value, ast.Name):
        return {value.id}
    return set()


def _indexed(kernel: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Return the names whose elements a Numba kernel reads and writes."""
    loads: set[str] = set()
    stores: set[str] = set()
    for node in ast.walk(kernel):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            loads |= _first_summand(node.target.value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            (loads if isinstance(node.ctx, ast.Load) else stores).add(node.value.id)
    return loads, stores


def _subscripts(kernel: ast.FunctionDef) -> dict[str, int]:
    """Return the number of indices of each name that is indexed."""
    counts: dict[str, int] = {}
    for node in ast.walk(kernel):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            counts[node.value.id] = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
    return counts
