"""Planning of a device function under test: declaration, arguments, launch and twins."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import Argument, Buffer, Dim3, FunctionArgument, FunctionCall, Launch
from gpuregress.gpu.records import MutableRecord, Record
from gpuregress.jobs.plan.source_files import SourceFile
from gpuregress.jobs.spec.expressions import Number
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.launch import CallScope, FunctionSpec
from gpuregress.jobs.spec.resolve import launches as spec_launches
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain import compiler_messages, cxx_declarations, include_scanner
from gpuregress.toolchain.functions import declarations, harness, host, overloads
from gpuregress.toolchain.functions.declarations import CxxFunction
from gpuregress.toolchain.functions.overloads import RESULT, FunctionInstance, NoFunction

_BLOCK = (256,)
_KEPT_TEXTS = 16


class PlannedFunction(Record):
    """A function under test in one case: its calls, the launch that makes them, and the kernel's text."""

    call: FunctionCall
    launch: Launch
    harness: str

    @property
    def written(self) -> tuple[str, ...]:
        """List the buffers that the function writes by reference: results, whether or not they have a fill."""
        return tuple(
            argument.name for argument in self.call.arguments if argument.each and overloads.is_written(argument.type)
        )


def planned(file: JobFile, scope: Scope, source: SourceFile, buffers: Mapping[str, Buffer]) -> PlannedFunction | None:
    """Plan the calls of a job's function; None if something is wrong, which is reported.

    Args:
        file: a job with a function.
        scope: the case's numbers; errors are reported there.
        source: the job's.
        buffers: the case's.
    """
    if file.is_broken("buffers", "parameters") or len(buffers) < len(file.job.buffers):
        return None
    return _FunctionPlan(file, scope, source, buffers).planned()


class _Form(MutableRecord):
    """The form of the calls: who makes one, and the threads of a block."""

    scope: CallScope
    block: Dim3

    @property
    def threads(self) -> int:
        return math.prod(self.block)


class _FunctionPlan:
    """The planning of one case."""

    def __init__(self, file: JobFile, scope: Scope, source: SourceFile, buffers: Mapping[str, Buffer]) -> None:
        self._file, self._scope, self._source, self._buffers = file, scope, source, buffers
        self._numbers: dict[str, Number] = {}
        for name in file.job.parameters:
            value = scope.names.get(name)
            if value is not None and not isinstance(value, str):
                self._numbers[name] = value
        assert file.job.function is not None
        self._spec: FunctionSpec = file.job.function
        is_short = isinstance(file.document.data["function"], str)
        self._key: Key = ("function",) if is_short else ("function", "name")

    def planned(self) -> PlannedFunction | None:
        before = self._scope.problems.reported
        form = self._form()
        shared_bytes = self._scope.whole(
            self._spec.shared, ("function", "shared"), low=0, high=spec_launches.MAX_SHARED, what="bytes"
        )
        shared = self._shared_arrays()
        instance = self._instance(tuple(shared))
        if form is None or instance is None or shared_bytes is None or self._scope.problems.reported > before:
            return None
        arguments = self._arguments(instance, shared, form)
        result = self._result(instance)
        calls = self._calls(form, arguments, result)
        if calls is None or self._scope.problems.reported > before:
            return None
        self._check_buffers(instance, arguments, result, form, calls)
        if self._scope.problems.reported > before:
            return None
        settings = self._kernel_settings(form, arguments, shared, result, calls)
        host_program = ""
        library: tuple[str, ...] = ()
        if "host" in (self._file.job.twins or ()):
            if not self._can_run_on_host(instance, form):
                return None
            host_program = host.program_text(instance, arguments)
            library = declarations.of_function(instance.function, self._source_texts())
        call = FunctionCall(
            name=instance.name,
            declared=str(instance.function),
            arguments=arguments,
            calls=calls,
            scope=form.scope,
            threads=form.threads,
            result=result,
            host=host_program,
            library=library,
            returns=instance.result,
        )
        grid = calls if form.scope == "block" else -(-calls // form.threads)
        launch = Launch(instance.name, (grid, 1, 1), form.block, shared_bytes, self._launch_arguments(call))
        return PlannedFunction(call, launch, harness.kernel_text(instance, arguments, settings))

    # --- the declaration ----------------------------------------------------------------------------------------------

    def _instance(self, shared: tuple[str, ...]) -> FunctionInstance | None:
        name = spec_launches.kernel_name(self._scope, self._spec.name, self._key)
        if name is None:
            return None
        path = self._source.path
        if path.suffix not in include_scanner.SUFFIXES:
            self._scope.error(self._key, f"needs a C++ source to call it from: {path.name} is compiled already")
            return None
        buffer_dtypes = {buffer.name: buffer.dtype for buffer in self._buffers.values() if buffer.texture is None}
        try:
            wanted = overloads.parse(name)
            functions = _functions(self._source_texts(), wanted.name.rpartition("::")[2])
            shown_path = compiler_messages.shown(path)
            self._refuse_kernels(wanted.name, functions, shown_path)
            return overloads.choose(wanted, functions, shown_path, buffer_dtypes, (*shared, *self._numbers))
        except NoFunction as problem:
            self._scope.error(problem.key or self._key, str(problem), self._spec.name)
            return None

    def _source_texts(self) -> tuple[str, ...]:
        return tuple(content.decode(errors="replace") for content in self._source.inputs.contents)

    def _refuse_kernels(self, name: str, functions: tuple[CxxFunction, ...], shown_path: str) -> None:
        """Say that a name is a kernel's, or that of a class's function that needs an object."""
        if any(_is_named(function.name, name) for function in functions):
            return
        text = self._source.path.read_text(encoding="utf-8", errors="replace")
        for kernel in cxx_declarations.declarations(text):
            if _is_named(kernel.name, name):
                raise NoFunction(f"{kernel} of {shown_path} is a kernel: launch it, with launches:")
        for function in declarations.scan(text):
            if function.member and _is_named(function.name, name):
                raise NoFunction(
                    f"{function} of {shown_path} needs an object of its class: only static functions can be called"
                )

    # --- the form of the calls ----------------------------------------------------------------------------------------

    def _form(self) -> _Form | None:
        job, spec = self._file.job, self._spec
        for name in ("scope", "block"):
            if getattr(job, name) is not None and name in spec.written:
                self._scope.error((name,), f"is given here and in function.{name}: leave one out")
        kind: CallScope = job.scope or spec.scope
        key: Key = ("block",) if job.block else ("function", "block")
        block = spec_launches.block_extents(self._scope, job.block or spec.block or _BLOCK, key)
        for name in ("blocks", "shared_arrays"):
            if kind != "block" and name in spec.written:
                self._scope.error(("function", name), "is for scope: block, where a whole block makes one call")
        return None if block is None else _Form(kind, block)

    def _shared_arrays(self) -> dict[str, int]:
        arrays: dict[str, int] = {}
        for name, value in self._spec.shared_arrays.items():
            key = ("function", "shared_arrays", name)
            count = self._scope.whole(value, key, low=1, what="elements")
            if name in self._buffers:
                self._scope.error(key, f"{name} is a buffer, too: leave one out")
            if count is not None:
                arrays[name] = count
        return arrays

    # --- arguments ----------------------------------------------------------------------------------------------------

    def _arguments(
        self, instance: FunctionInstance, shared: Mapping[str, int], form: _Form
    ) -> tuple[FunctionArgument, ...]:
        arguments: list[FunctionArgument] = []
        first_default = ""
        for name, type_ in instance.parameters:
            each = overloads.is_passed_each(type_)
            parameter = f"parameter {name!r} of {instance} is {type_}"
            if name in self._buffers:
                argument = FunctionArgument(name, type_, "buffer", each)
            elif name in shared:
                argument = FunctionArgument(name, type_, "shared")
                if each:
                    self._scope.error(("function", "shared_arrays", name), f"{parameter}: no pointer")
            elif name in self._numbers:
                argument = FunctionArgument(name, type_, "parameter")
                if not each or overloads.is_written(type_):
                    self._scope.error(self._key, f"{parameter}: it needs a buffer {name}")
            else:
                first_default = first_default or name
                continue
            if first_default:
                text = f"parameter {first_default!r} of {instance} keeps its default, so {name!r} after it must, too"
                self._scope.error(self._key, text)
            arguments.append(argument)
        names = {name for name, _ in instance.parameters}
        for name in shared:
            if name not in names and form.scope == "block":
                self._scope.error(("function", "shared_arrays", name), f"{instance} has no parameter {name!r}")
        return tuple(arguments)

    def _result(self, instance: FunctionInstance) -> str:
        """Return the buffer for what is returned, "" for none."""
        is_parameter = any(name == RESULT for name, _ in instance.parameters)
        has_buffer = RESULT in self._buffers and not is_parameter
        if instance.result == "void" and has_buffer:
            self._scope.error(("buffers", RESULT), f"{instance} returns nothing, so nothing would be in {RESULT}")
        if instance.result not in ("void", "auto") and not has_buffer:
            text = f"there is no buffer {RESULT!r} for what {instance} returns, {instance.result}"
            self._scope.error(("buffers",), text)
        return RESULT if has_buffer else ""

    def _calls(self, form: _Form, arguments: tuple[FunctionArgument, ...], result: str) -> int | None:
        if form.scope == "block" and self._spec.blocks is not None:
            key: Key = ("function", "blocks")
            return self._scope.whole(self._spec.blocks, key, low=1, high=spec_launches.MAX_GRID[0], what="blocks")
        counted = self._counted(arguments, result)
        if not counted:
            text = f"nothing says how often it is called: give it a buffer {RESULT}"
            self._scope.error(self._key, text)
            return None
        return self._elements(counted)

    def _counted(self, arguments: tuple[FunctionArgument, ...], result: str) -> str:
        """Return the buffer whose elements are counted: the result, else the first that is written, else the first."""
        if result:
            return result
        buffers = [argument for argument in arguments if argument.given == "buffer" and argument.each]
        for argument in buffers:
            if overloads.is_written(argument.type):
                return argument.name
        return buffers[0].name if buffers else ""

    def _elements(self, name: str) -> int:
        return math.prod(self._buffers[name].shape)

    # --- checks -------------------------------------------------------------------------------------------------------

    def _check_buffers(
        self, instance: FunctionInstance, arguments: tuple[FunctionArgument, ...], result: str, form: _Form, calls: int
    ) -> None:
        counted = f"{self._counted(arguments, result)} has"
        if self._spec.blocks is not None:
            counted = "the calls are"
        sizes = [calls]
        also = ""
        if form.scope == "block":
            sizes.append(calls * form.threads)
            also = f", or one for each thread of a block: {calls * form.threads}"
        passed_each = [argument for argument in arguments if argument.given == "buffer" and argument.each]
        names = [argument.name for argument in passed_each]
        if result:
            names.append(result)
        for name in names:
            if self._elements(name) not in sizes:
                text = f"{name} has {self._elements(name)} elements and {counted} {calls}"
                message = f"{text}: each call of {instance} takes one{also}"
                self._scope.error(("buffers", name, "shape"), message, *self._file.job.buffers[name].shape)
        for argument in passed_each:
            if not overloads.is_written(argument.type) and self._buffers[argument.name].is_poisoned:
                text = f"has no fill, and {instance} reads it: give it one"
                self._scope.error(("buffers", argument.name), text)

    def _kernel_settings(
        self,
        form: _Form,
        arguments: tuple[FunctionArgument, ...],
        shared: Mapping[str, int],
        result: str,
        calls: int,
    ) -> harness.KernelSettings:
        number_types: dict[str, str] = {}
        per_thread: set[str] = set()
        for argument in arguments:
            if argument.given == "parameter":
                is_float = isinstance(self._numbers[argument.name], float)
                number_types[argument.name] = "double" if is_float else "long long"
            elif argument.given == "buffer" and self._elements(argument.name) != calls:
                per_thread.add(argument.name)
        if form.scope != "block":
            return harness.KernelSettings(number_types=number_types)
        return harness.KernelSettings(
            "block",
            frozenset(per_thread),
            result != "" and self._elements(result) != calls,
            dict(shared),
            number_types,
        )

    def _can_run_on_host(self, instance: FunctionInstance, form: _Form) -> bool:
        """Tell whether a program of the host can make the calls; if not, it is reported."""
        key: Key = ("twins", (self._file.job.twins or []).index("host"))
        if not instance.function.is_twofold:
            self._scope.error(key, f"{instance} is not __host__ __device__: the host's compiler has no such function")
            return False
        if form.scope == "block":
            self._scope.error(key, f"{instance} is called by whole blocks (scope: block), and the host has no blocks")
            return False
        return True

    def _launch_arguments(self, call: FunctionCall) -> tuple[Argument, ...]:
        result = Argument("buffer", buffer=call.result) if call.result else Argument("null", text="null")
        buffers: list[Argument] = []
        numbers: list[Argument] = []
        for argument in call.arguments:
            if argument.given == "buffer":
                buffers.append(Argument("buffer", buffer=argument.name))
            elif argument.given == "parameter":
                value = self._numbers[argument.name]
                dtype = "float64" if isinstance(value, float) else "int64"
                numbers.append(spec_launches.number_argument(dtype, (value,), argument.name))
        calls = spec_launches.number_argument("uint64", (call.calls,), "calls")
        return (result, *buffers, *numbers, calls)


def _is_named(full_name: str, name: str) -> bool:
    """Tell whether a name, with or without its namespaces, means a function."""
    return name in (full_name, full_name.rpartition("::")[2])


@functools.lru_cache(maxsize=_KEPT_TEXTS)
def _functions(texts: tuple[str, ...], name: str) -> tuple[CxxFunction, ...]:
    """Return the device functions of a source, and those of its headers that have a word of this name."""
    macros = declarations.specifier_macros(texts)
    return declarations.device_functions([texts[0], *(text for text in texts[1:] if name in text)], macros)


# --- check of a job's twins: there must be two sides, and the host can only call a function ---------------------------


def check_twins(file: JobFile, problems: Problems) -> None:
    """Report twins that cannot be compared.

    Args:
        file: the job.
        problems: collects the errors.
    """
    job = file.job
    if job.twins is None:
        return
    given = list(job.twins)
    for position, twin in enumerate(given):
        if twin in given[:position]:
            problems.add(("twins", position), f"duplicate entry {twin!r}")
    if len(set(given)) == 1 and "host" not in given:
        other = "cuda" if given == ["cpu"] else "cpu"
        text = f"names one device, {given[0]}: name what it is compared with, such as [{given[0]}, {other}]"
        problems.add(("twins",), text)
    if "host" in given:
        _check_host(file, problems, given.index("host"))
    if job.expect is not None:
        problems.add(("twins",), "has no effect beside expect: a case that must fail has no results to compare")


def _check_host(file: JobFile, problems: Problems, position: int) -> None:
    job = file.job
    if job.function is None and not file.is_broken("function"):
        problems.add(
            ("twins", position), "the host can only call a function: host needs function: in place of launches"
        )
    symbols = [name for name, buffer in job.buffers.items() if buffer.symbol]
    if symbols:
        text = f"{symbols[0]} is a variable of the device (symbol:), which the host's program does not have"
        problems.add(("twins", position), text)
