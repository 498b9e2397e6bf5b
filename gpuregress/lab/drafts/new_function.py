"""Draft of a job for a device function, derived from its declaration."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.records import FunctionArgument, Source, TypeLayout
from gpuregress.lab.drafts.kernel import compile_lines, shown
from gpuregress.session import compilation
from gpuregress.toolchain import cxx_declarations, layouts, programs
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions
from gpuregress.toolchain.cxx_declarations import template_name
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.functions import harness, overloads
from gpuregress.toolchain.functions.declarations import CxxFunction
from gpuregress.toolchain.functions.harness import CompiledType, KernelSettings
from gpuregress.toolchain.functions.overloads import FunctionInstance

_DTYPES = {"bool": "bool", "int": "int{}", "uint": "uint{}", "float": "float{}", "enum": "int{}"}
_OF_A_BLOCK = re.compile(r"\b(__syncthreads\w*|__shared__|threadIdx|__syncwarp|__shfl\w*_sync|cooperative_groups)\b")


def lines(
    function: CxxFunction,
    text: str,
    source: Path,
    target: Path,
    others: Sequence[CxxFunction],
    build: BuildOptions = NO_OPTIONS,
) -> Iterator[str]:
    """The job, line by line.

    Args:
        function: what is tested.
        text: of the source that declares it.
        source: that source.
        target: the job's file.
        others: the source's other device functions.
        build: the options to compile with.
    """
    return _Writer(function, text, source, target, others, build).lines()


def job_name(function: CxxFunction, others: Sequence[CxxFunction]) -> str:
    """Name the job of a function: its own name, with the types of its parameters where it has overloads."""
    name = function.name.rpartition("::")[2]
    if not _is_overloaded(function, others):
        return name
    types = [re.sub(r"\W+", "_", parameter.type).strip("_") for parameter in function.parameters]
    return "_".join([name, *types])


def _is_overloaded(function: CxxFunction, others: Sequence[CxxFunction]) -> bool:
    return any(other.name == function.name for other in others)


class _Writer:
    """One job's text."""

    def __init__(
        self,
        function: CxxFunction,
        text: str,
        source: Path,
        target: Path,
        others: Sequence[CxxFunction],
        build: BuildOptions,
    ) -> None:
        self._function = function
        self._others = others
        arguments = tuple(_argument(parameter) for parameter in function.template if "..." not in parameter)
        self._instance = FunctionInstance(function, arguments, _is_overloaded(function, others))
        folder = target.absolute().parent
        self._source = os.path.relpath(source.absolute(), folder)
        self._compile_lines = compile_lines(build, source.absolute(), folder)
        self._is_of_block = _OF_A_BLOCK.search(text[slice(*function.span)]) is not None
        self._types: tuple[CompiledType, ...] | None = None
        self._layouts: tuple[TypeLayout, ...] = ()
        self._compile(source, build)
        taken = {name for name, _ in self._instance.parameters}
        free = [name for name in ("n", "count", "elements", "number_of_calls") if name not in taken]
        self._count = free[0]

    def lines(self) -> Iterator[str]:
        """The job, line by line."""
        yield f"# A first job for {self._function}: check every line against what the function expects."
        yield f"source: {yaml_writer.block_scalar(self._source)}"
        yield from self._compile_lines
        yield from self._called()
        yield "parameters:                         # every combination is a case"
        yield f"  {self._count}: [1000]"
        yield "buffers:                            # one element for each call; a pointer is given all of its buffer"
        for number, (name, type_) in enumerate(self._instance.parameters, 1):
            yield f"  {name}: {self._buffer(number, type_)}"
        if self._returns:
            dtype, comment = self._dtype(0, self._instance.result)
            yield f"  {overloads.RESULT}: {{dtype: {dtype}, shape: [{self._count}]}}{comment}"
        yield from self._dump()
        if self._function.is_twofold and not self._is_of_block:
            yield "# twins: [host]                     # compare with the function that the host's compiler makes"
        yield "# compare:                          # without a rule, every bit of every output must be as accepted"
        yield "#   result: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 30}"
        if self._others:
            yield f"# The source's other device functions: {', '.join(str(other) for other in self._others)}"

    def _called(self) -> Iterator[str]:
        name = self._instance.name
        if _is_overloaded(self._function, self._others):
            name = str(self._instance)
        name = yaml_writer.block_scalar(name)
        if not self._is_of_block:
            yield f"function: {name}"
            return
        yield "function:"
        yield f"  name: {name}"
        yield "  scope: block                      # its threads work together: a block makes one call"
        yield "  block: [128]"
        yield "  # shared_arrays: {PARAMETER: 128}  # a pointer to shared memory: its elements"

    @property
    def _returns(self) -> bool:
        if self._types:
            return self._types[0].kind != "void"
        return self._instance.result != "void"

    def _dump(self) -> Iterator[str]:
        """Filled buffers are dumped only where the job says so."""
        parameters = self._instance.parameters
        outputs = [name for name, type_ in parameters if overloads.is_written(type_)]
        if self._returns:
            outputs.insert(0, overloads.RESULT)
        filled = [name for name, type_ in parameters if _is_filled_result(type_)]
        if filled or not outputs:
            names = [*outputs, *filled] or [name for name, _ in parameters[:1]]
            yield f"dump: [{', '.join(names)}]"

    def _buffer(self, number: int, type_: str) -> str:
        dtype, comment = self._dtype(number, type_)
        settings = f"dtype: {dtype}, shape: [{self._count}]"
        if overloads.is_written(type_):
            comment = comment or "        # an output; give it a fill if the function also reads it"
        elif _is_filled_result(type_):
            settings += ", fill: zeros"
        else:
            settings += f", fill: {_fill(dtype)}"
        return f"{{{settings}}}{comment}"

    def _dtype(self, number: int, type_: str) -> tuple[str, str]:
        """Return the dtype of a parameter's buffer (0: of the result's), and a comment where it is a guess."""
        words = cxx_declarations.WORD.findall(type_)
        base = cxx_declarations.spelled([word for word in words if word not in ("const", "volatile", "&", "*")])
        known = dtype_of_type(base)
        compiled = None
        if self._types and number < len(self._types):
            compiled = self._types[number]
        if known is None and compiled is not None and compiled.kind in _DTYPES:
            known = _DTYPES[compiled.kind].format(8 * compiled.size)
        if known is not None:
            return known, ""
        if compiled is None or compiled.size < 1:
            return "float32", f"        # {type_} is not known here: name its dtype or fields"
        if number < len(self._layouts):
            dtype = layouts.dtype(self._layouts[number], pads=True)
            if dtype is not None:
                return shown(dtype), ""
        if compiled.size % 4 == 0:
            words = [f"w{word}: int32" for word in range(compiled.size // 4)]
        else:
            words = [f"w{word}: uint8" for word in range(compiled.size)]
        return f"{{{', '.join(words)}}}", f"        # {base} has {compiled.size} bytes: name its fields"

    def _compile(self, source: Path, build: BuildOptions) -> None:
        """Ask the compiler for the types; none are known where it cannot compile a call."""
        arguments = [
            FunctionArgument(name, type_, "buffer", overloads.is_passed_each(type_))
            for name, type_ in self._instance.parameters
        ]
        text = harness.kernel_text(self._instance, arguments, KernelSettings())
        compiled = build.applied_to(Source(str(source.absolute()), kernels=(self._instance.name,), harness=text))
        try:
            program = compilation.compile_source(compiled)
            types = harness.signature(storage.read_bytes(Path(program.ptx)).decode(errors="replace"))
            self._types = types
            if any(type_.kind not in (*_DTYPES, "void") for type_ in types or ()):
                typed = compilation.compile_source(programs.with_debug_types(compiled))
                self._layouts = typed.types.get(self._instance.name, ())
        except Interrupted:
            raise
        except GpuregressError:
            return


def _is_filled_result(type_: str) -> bool:
    """Tell whether a parameter points to what the function may write."""
    return type_.endswith("*") and "const" not in cxx_declarations.WORD.findall(type_)


def _argument(text: str) -> str:
    """Choose an argument for a template parameter: its default, or one that is often right."""
    kind, _, default = (part.strip() for part in text.partition("="))
    if default:
        return default
    if kind.startswith(("typename", "class")):
        return "float"
    if kind.removesuffix(template_name(text)).strip() == "bool":
        return "true"
    return "4"


def _fill(dtype: str) -> str:
    if dtype == "bool":
        return "{choice: [0, 1]}"
    if "int" in dtype or "char" in dtype:
        return "{integers: {low: 0, high: 100}}"
    return "{normal: {std: 1.0}}"
