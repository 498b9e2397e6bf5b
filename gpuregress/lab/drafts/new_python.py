"""Draft of a job for a kernel in Triton or Numba, derived from its syntax tree."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.wording import free_name
from gpuregress.gpu.records import Record
from gpuregress.lab.drafts import python_host
from gpuregress.lab.drafts.host_values import Buffer, Constant, Dtype, Number, Tensor
from gpuregress.lab.drafts.kernel import formula
from gpuregress.lab.drafts.launch import UNKNOWN_SIZE
from gpuregress.lab.drafts.python_host import Launch

_FLOATS = re.compile(r"eps\w*|\w*scale|a|alpha|beta|p|lr|factor|momentum", re.IGNORECASE)
_EXTENT = re.compile(r"n\w*|m|k|\w*(num|size|len|rows?|col(umn)?s?|elements)\w*", re.IGNORECASE)
_STORES = ("store", "atomic_add", "atomic_max", "atomic_min", "atomic_xchg", "atomic_cas", "atomic_and", "atomic_or")
_BLOCKS_OF_MEMORY = ("make_block_ptr", "make_tensor_descriptor")
"""Calls whose result is loaded from, or stored to, or both."""
_BLOCK = 128
_BLOCKS = {1: (_BLOCK,), 2: (16, 16), 3: (4, 8, 8)}
"""Threads of a Numba block, by the number of axes."""
_SIZES = {1: "[1000, 4096]", 2: "[100, 1000]"}
_SMALL_SIZES = "[10, 40]"
"""Sizes of each axis, by the number of axes of the buffer that has most: 4 MB and 0.25 MB, of four axes 10 MB."""


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
    tree = ast.parse(text)
    _add_decorators(tree)
    for node in tree.body:
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


def _add_decorators(tree: ast.Module) -> None:
    """Write `kernel = triton.jit(kernel)` as a decorator."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=decorator, args=[ast.Name(id=given)])) if (
                name == given and name in functions
            ):
                functions[name].decorator_list.insert(0, decorator)


class PythonDraft:
    """A job for a kernel in Python, from the host code that launches it or from its own code.

    Attributes:
        needed: what the host code does not tell.
        is_launched: whether a launch was found.
        guessed_sizes: the buffers whose size is a guess.

    Args:
        kernel: that it tests.
        path: of its file.
        source: the same, relative to the job.
    """

    def __init__(self, kernel: KernelFunction, path: Path, source: str) -> None:
        self._kernel = kernel
        self._source = source
        self._guess = _Draft(kernel)
        self._launch: _LaunchDraft | None = None
        self.needed: tuple[str, ...] = ()
        self.guessed_sizes: tuple[str, ...] = ()
        if kernel.language == "triton":
            try:
                drafts = [_LaunchDraft(launch, self._guess) for launch in python_host.launches(path, kernel.node)]
            except Exception as error:  # noqa: BLE001 - Python of any form may not end the command
                drafts = []
                what = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
                self.needed = (f"all that the host code gives: it could not be read ({what})",)
            if drafts:
                self._launch = min(drafts, key=_guess_count)
        if self._launch is not None:
            self.needed = tuple(self._launch.needed)
            self.guessed_sizes = tuple(self._launch.guessed_sizes)

    @property
    def is_launched(self) -> bool:
        """Whether a launch was found in the host code."""
        return self._launch is not None

    def lines(self, others: Sequence[str]) -> Iterator[str]:
        """Write the job, line by line.

        Args:
            others: the names of the file's other kernels.
        """
        kernel = self._kernel
        yield f"# A first job for {kernel.name}: check every line against what the kernel expects."
        yield f"source: {yaml_writer.block_scalar(f'{self._source}:{kernel.name}')}"
        yield f"language: {kernel.language}"
        if self._launch is not None:
            yield from self._launch.lines()
        else:
            yield from self._guess.lines()
        yield "# compare:                          # without a rule, every bit of every output must be as accepted"
        yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 30}"
        if others:
            yield f"# The source's other kernels: {', '.join(others)}"


def _guess_count(draft: _LaunchDraft) -> int:
    return len(draft.needed)


class _LaunchDraft:
    """The part of a job that a launch of the host code tells.

    Attributes:
        needed: what it does not tell.
        guessed_sizes: the buffers whose size is a guess.
    """

    def __init__(self, launch: Launch, guess: _Draft) -> None:
        self._launch = launch
        self._guess = guess
        self._types: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self._arguments: list[str] = []
        self._buffers: dict[str, Tensor] = {}
        self._numbers: list[Number] = list(launch.grid or ())
        self.needed: list[str] = []
        self.guessed_sizes: list[str] = []
        computed = _heuristics(guess.kernel.node)
        for name in guess.parameters:
            if name in guess.constants:
                if name not in computed or name in launch.given:
                    self._add_constant(name)
            else:
                self._add_argument(name)
        if launch.grid is None:
            self.needed.append(f"the grid: {launch.place} does not give it")

    def _add_constant(self, name: str) -> None:
        value = self._launch.values.get(name)
        if isinstance(value, Number):
            self._numbers.append(value)
            self._constants[name] = self._text(value)
        elif isinstance(value, Dtype):
            self._constants[name] = f"{{text: tl.{value.name}}}"
        elif isinstance(value, Constant):
            is_text = isinstance(value.value, str)
            self._constants[name] = json.dumps({"text": value.value} if is_text else value.value)
        elif value is not None or name not in self._guess.defaults:
            self._constants[name] = self._guess.constants[name] if name.isupper() else "0"
            self.needed.append(f"the value of {name}: {self._launch.place} does not give it")

    def _add_argument(self, name: str) -> None:
        value = self._launch.values.get(name)
        if value is None and name in self._guess.defaults:
            return
        if isinstance(value, Constant) and value.value is None:
            self._constants[name] = "null"
            return
        is_buffer = name in self._guess.buffers
        if isinstance(value, Tensor) and (is_buffer or value.shape is not None or value.buffer.fill is not None):
            self._types[name] = f"*{_TRITON_TYPES[value.buffer.dtype]}"
            self._arguments.append(self._buffer(value))
        elif isinstance(value, Number):
            self._numbers.append(value)
            kind = "i32" if isinstance(value.value, int) else "fp32"
            if kind == "i32" and abs(value.value) >= 2**31:
                kind = "i64"
            self._types[name] = kind
            self._arguments.append(f"{{{_NUMBERS[kind]}: {self._text(value)}}}")
        elif isinstance(value, Constant) and isinstance(value.value, bool):
            self._types[name] = "i32"
            self._arguments.append(f"{{int32: {int(value.value)}}}")
        elif is_buffer:
            self._types[name] = "*fp32"
            self._arguments.append(self._buffer(Buffer(name, "float32", None).tensor))
        else:
            self._types[name] = self._guess.types[name]
            self._arguments.append(self._guess.argument(name).replace("int32: n}", "int32: 1}"))
            self.needed.append(f"the value of {name}: {self._launch.place} does not give it")

    def _buffer(self, tensor: Tensor) -> str:
        """Name the buffer of a tensor."""
        for name, known in self._buffers.items():
            if known.buffer is tensor.buffer:
                return name
        plain = re.sub(r"\W", "_", tensor.buffer.name).strip("_") or "buffer"
        unique = free_name(plain, self._buffers)
        self._buffers[unique] = tensor
        if tensor.buffer.tensor.shape is None and tensor.shape is None:
            self.guessed_sizes.append(unique)
        else:
            self._numbers += self._shape(tensor)
        return unique

    def _shape(self, tensor: Tensor) -> list[Number]:
        return tensor.buffer.tensor.shape or tensor.shape or []

    def _guessed_size(self) -> str:
        """The last extent of the largest tensor that is known."""
        best: list[Number] = []
        for tensor in self._buffers.values():
            shape = self._shape(tensor)
            if len(shape) > len(best):
                best = shape
        return self._text(best[-1]) if best else "1024"

    def _text(self, number: Number) -> str:
        return formula(self._launch.sizes.text(number))

    def lines(self) -> Iterator[str]:
        """Write the keys between the language and the comparison."""
        yield f"# The launch is that of {self._launch.place}."
        yield "signature:                          # parameter: type"
        for name, kind in self._types.items():
            yield f'  {name}: "{kind}"'
        if self._constants:
            yield "constants:                          # tl.constexpr: its value"
            for name, text in self._constants.items():
                yield f"  {name}: {text}"
        if any(_decorator(decorator) == "autotune" for decorator in self._guess.kernel.node.decorator_list):
            yield "autotune: off                       # all: a case for each configuration, without its constants here"
        settings = {"num_warps": 4}
        settings |= {key: value for key, value in self._launch.settings.items() if key in _SETTINGS}
        for name, value in settings.items():
            yield f"{name}: {value}"
        parameters = self._launch.sizes.used(self._numbers)
        if parameters:
            yield "parameters:                         # every combination is a case"
            for name, value in parameters.items():
                yield f"  {name}: [{value}]"
        yield "buffers:"
        yield from self._buffer_lines()
        yield "launches:"
        grid = ", ".join(self._text(number) for number in self._launch.grid or ()) or "1"
        note = "" if self._launch.grid is not None else "  # NEEDED: the grid"
        yield f"  - {{grid: [{grid}], args: [{', '.join(self._arguments)}]}}{note}"
        results = [name for name in self._buffers if self._is_written(name)]
        if any(self._buffers[name].buffer.fill != "" for name in results):
            yield f"dump: [{', '.join(results)}]"

    def _is_written(self, buffer: str) -> bool:
        """Whether the kernel stores to a buffer, by any of its parameters."""
        passed = dict(zip(self._types, self._arguments, strict=True))
        return any(argument == buffer and name in self._guess.written for name, argument in passed.items())

    def _buffer_lines(self) -> Iterator[str]:
        for name, tensor in self._buffers.items():
            note = ""
            shape = ", ".join(self._text(number) for number in self._shape(tensor))
            if name in self.guessed_sizes:
                shape, note = self._guessed_size(), f"  # NEEDED: {UNKNOWN_SIZE}"
            fill = tensor.buffer.fill
            text = f"dtype: {tensor.buffer.dtype}, shape: [{shape or 1}]"
            if fill is None:
                fill = "{normal: {std: 1.0}}" if "float" in tensor.buffer.dtype else "zeros"
            if fill:
                text += f", fill: {fill}"
            yield f"  {name}: {{{text}}}{note}"


_TRITON_TYPES = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "i1",
}
_NUMBERS = {"i32": "int32", "i64": "int64", "fp32": "float32"}
_SETTINGS = ("num_warps", "num_stages", "num_ctas")


def _decorator(node: ast.expr) -> str:
    named = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(named).rpartition(".")[2]


def _heuristics(kernel: ast.FunctionDef) -> set[str]:
    """Return the constants that `@triton.heuristics` calculates."""
    names: set[str] = set()
    for decorator in kernel.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("heuristics"):
            for values in ast.walk(decorator):
                if isinstance(values, ast.Dict):
                    names |= {str(key.value) for key in values.keys if isinstance(key, ast.Constant)}
    return names


class _Draft:
    """What the uses of a kernel's parameters tell."""

    def __init__(self, kernel: KernelFunction) -> None:
        self.kernel = kernel
        self._axes: dict[str, int] = {}
        if kernel.language == "numba":
            self._axes = _subscripts(kernel.node)
            self.read, self.written = _indexed(kernel.node)
        else:
            self.read, self.written = _addresses(kernel.node)
        names: list[str] = []
        constants: list[str] = []
        arguments = kernel.node.args
        positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        self.defaults = dict(zip(reversed(positional), reversed(arguments.defaults), strict=False))
        self.parameters = [*positional, *(argument.arg for argument in arguments.kwonlyargs)]
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            is_constant = argument.annotation and ast.unparse(argument.annotation).endswith("constexpr")
            (constants if is_constant else names).append(argument.arg)
        used = self.read | self.written
        self.buffers = [name for name in names if name in used or name.endswith("_ptr")]
        self.types = {name: self._type(name) for name in names}
        several = len([name for name in constants if "BLOCK" in name.upper()]) > 1
        self.constants = {name: self._constant(name, several=several) for name in constants}

    def lines(self) -> Iterator[str]:
        """Write the keys between the language and the comparison."""
        yield "signature:                          # parameter: type"
        for name, kind in self.types.items():
            yield f'  {name}: "{kind}"'
        if self.constants:
            yield "constants:                          # tl.constexpr: its value"
            for name, value in self.constants.items():
                yield f"  {name}: {value}"
        if self.kernel.language == "triton":
            yield "num_warps: 4"
        yield "parameters:                         # every combination is a case"
        most = max((self.axes(name) for name in self.buffers), default=1)
        yield f"  n: {_SIZES.get(most, _SMALL_SIZES)}"
        yield "buffers:"
        for name in self.buffers:
            settings = f"dtype: float32, shape: [{', '.join(['n'] * self.axes(name))}]"
            if name in self.read or name not in self.written:
                settings += ", fill: {normal: {std: 1.0}}"
            yield f"  {name}: {{{settings}}}"
        yield "launches:                           # the grid is a guess"
        arguments = [self.argument(name) for name in self.types]
        yield f"  - {{{self._geometry()}, args: [{', '.join(arguments)}]}}"
        results = [name for name in self.buffers if name in self.written]
        if any(name in self.read for name in results):  # filled buffers are dumped only where the job says so
            yield f"dump: [{', '.join(results)}]"

    def _geometry(self) -> str:
        """Write the grid, and the block of Numba: as many axes as `cuda.grid` is asked for."""
        if self.kernel.language != "numba":
            return f"grid: [ceil(n / {_BLOCK})]"
        axes = _grid_axes(self.kernel.node)
        block = _BLOCKS[axes]
        grid = ", ".join(f"ceil(n / {threads})" for threads in block)
        return f"grid: [{grid}], block: [{', '.join(map(str, block))}]"

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
        if self.kernel.language == "triton":
            if name in self.buffers:
                return "*fp32"
            return "fp32" if is_float else "i32"
        if name in self.buffers:
            return f"float32[{', '.join([*[':'] * (self.axes(name) - 1), '::1'])}]"
        return "float32" if is_float else "int32"

    def _constant(self, name: str, *, several: bool) -> str:
        default = self.defaults.get(name)
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
            if node.func.attr in ("load", *_BLOCKS_OF_MEMORY) or node.func.attr.startswith("atomic"):
                loads |= names
            if node.func.attr in (*_STORES, *_BLOCKS_OF_MEMORY):
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


def _grid_axes(kernel: ast.FunctionDef) -> int:
    """Return the number of axes of a Numba kernel's grid."""
    for node in ast.walk(kernel):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("cuda.grid", "grid") and node.args:
            axes = node.args[0]
            if isinstance(axes, ast.Constant) and axes.value in _BLOCKS:
                return int(str(axes.value))
    return 1


def _subscripts(kernel: ast.FunctionDef) -> dict[str, int]:
    """Return the number of indices of each name that is indexed."""
    counts: dict[str, int] = {}
    for node in ast.walk(kernel):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            counts[node.value.id] = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
    return counts
