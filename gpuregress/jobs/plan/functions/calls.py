"""Planning of a device function under test: declaration, arguments, and the launch that calls it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import Argument, Buffer, Dim3, FunctionArgument, FunctionCall, Launch
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan.source_files import SourceFile
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.function import CallScope, FunctionSpec
from gpuregress.jobs.spec.resolve import launches as spec_launches
from gpuregress.jobs.spec.resolve import scalar_arguments
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
        return tuple(one.name for one in self.call.arguments if one.each and overloads.is_written(one.type))


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


@dataclass(slots=True)
class _Form:
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
        values = ((name, scope.names[name]) for name in file.job.parameters if name in scope.names)
        self._numbers = {name: value for name, value in values if not isinstance(value, str)}
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
        twin = self._host(instance, arguments, form) if "host" in (self._file.job.twins or ()) else ("", ())
        if twin is None:
            return None
        call = FunctionCall(
            instance.name,
            str(instance.function),
            arguments,
            calls,
            form.scope,
            form.threads,
            result,
            *twin,
            returns=instance.result,
        )
        grid = calls if form.scope == "block" else -(-calls // form.threads)
        launch = Launch(instance.name, (grid, 1, 1), form.block, shared_bytes, self._launch_arguments(call), (), 0)
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
        given = {buffer.name: buffer.dtype for buffer in self._buffers.values() if buffer.texture is None}
        try:
            wanted = overloads.parse(name)
            functions = self._functions(wanted.name)
            where = compiler_messages.shown(path)
            self._refuse_kernels(wanted.name, functions, where)
            return overloads.choose(wanted, functions, where, given, (*shared, *self._numbers))
        except NoFunction as problem:
            self._scope.error(problem.key or self._key, str(problem), self._spec.name)
            return None

    def _functions(self, name: str) -> tuple[CxxFunction, ...]:
        return _functions(self._source_texts(), name.rpartition("::")[2])

    def _source_texts(self) -> tuple[str, ...]:
        return tuple(content.decode(errors="replace") for content in self._source.inputs.contents)

    def _refuse_kernels(self, name: str, functions: tuple[CxxFunction, ...], where: str) -> None:
        """Say that a name is a kernel's, or that of a class's function that needs an object."""
        if any(name in (one.name, one.name.rpartition("::")[2]) for one in functions):
            return
        text = self._source.path.read_text(encoding="utf-8", errors="replace")
        for kernel in cxx_declarations.declarations(text):
            if name in (kernel.name, kernel.name.rpartition("::")[2]):
                raise NoFunction(f"{kernel} of {where} is a kernel: launch it, with launches:")
        for one in declarations.scan(text):
            if one.member and name in (one.name, one.name.rpartition("::")[2]):
                raise NoFunction(f"{one} of {where} needs an object of its class: only static functions can be called")

    # --- the form of the calls ----------------------------------------------------------------------------------------

    def _form(self) -> _Form | None:
        job, spec = self._file.job, self._spec
        for name in ("scope", "block"):
            if getattr(job, name) is not None and name in spec.written:
                self._scope.error((name,), f"is given here and in function.{name}: leave one out")
        kind: CallScope = job.scope or spec.scope
        given = job.block or spec.block or list(_BLOCK)
        key: Key = ("block",) if job.block else ("function", "block")
        block = self._block(given, key)
        for name in ("blocks", "shared_arrays"):
            if kind != "block" and name in spec.written:
                self._scope.error(("function", name), "is for scope: block, where a whole block makes one call")
        return None if block is None else _Form(kind, block)

    def _block(self, given: Sequence[int | float | str], key: Key) -> Dim3 | None:
        counts = [
            self._scope.whole(value, (*key, axis), low=1, what=f"threads along {'xyz'[axis]}")
            for axis, value in enumerate(given)
        ]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        x, y, z = (*known, 1, 1)[:3]
        if x * y * z > spec_launches.MAX_THREADS or z > spec_launches.MAX_BLOCK[2]:
            text = f"{' x '.join(map(str, known))} is {x * y * z} threads"
            self._scope.refuse(key, f"{text}: a block has at most {spec_launches.MAX_THREADS}, and 64 along z", *given)
        return x, y, z

    def _shared_arrays(self) -> dict[str, int]:
        counts = {
            name: self._scope.whole(value, ("function", "shared_arrays", name), low=1, what="elements")
            for name, value in self._spec.shared_arrays.items()
        }
        for name in counts:
            if name in self._buffers:
                self._scope.error(("function", "shared_arrays", name), f"{name} is a buffer, too: leave one out")
        return {name: count for name, count in counts.items() if count is not None}

    # --- arguments ----------------------------------------------------------------------------------------------------

    def _arguments(
        self, instance: FunctionInstance, shared: Mapping[str, int], form: _Form
    ) -> tuple[FunctionArgument, ...]:
        arguments: list[FunctionArgument] = []
        kept = ""
        for name, type_ in instance.parameters:
            each = overloads.is_passed_each(type_)
            if name in self._buffers:
                argument = FunctionArgument(name, type_, "buffer", each)
            elif name in shared:
                argument = FunctionArgument(name, type_, "shared")
                if each:
                    self._scope.error(
                        ("function", "shared_arrays", name), f"parameter {name!r} of {instance} is {type_}: no pointer"
                    )
            elif name in self._numbers:
                argument = FunctionArgument(name, type_, "parameter")
                if not each or overloads.is_written(type_):
                    self._scope.error(
                        self._key, f"parameter {name!r} of {instance} is {type_}: it needs a buffer {name}"
                    )
            else:
                kept = kept or name
                continue
            if kept:
                self._scope.error(
                    self._key, f"parameter {kept!r} of {instance} keeps its default, so {name!r} behind it must, too"
                )
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
            text = f"nothing tells how often it is called: give it a buffer {RESULT}"
            self._scope.error(self._key, text)
            return None
        return self._elements(counted)

    def _counted(self, arguments: tuple[FunctionArgument, ...], result: str) -> str:
        """Return the buffer whose elements are counted."""
        each = [one for one in arguments if one.given == "buffer" and one.each]
        written = [one.name for one in each if overloads.is_written(one.type)]
        return next(iter([*([result] if result else []), *written, *(one.name for one in each)]), "")

    def _elements(self, name: str) -> int:
        return math.prod(self._buffers[name].shape)

    # --- checks -------------------------------------------------------------------------------------------------------

    def _check_buffers(
        self, instance: FunctionInstance, arguments: tuple[FunctionArgument, ...], result: str, form: _Form, calls: int
    ) -> None:
        counted = "the calls" if self._spec.blocks is not None else self._counted(arguments, result)
        sizes = (calls, calls * form.threads) if form.scope == "block" else (calls,)
        names = [one.name for one in arguments if one.given == "buffer" and one.each] + ([result] if result else [])
        for name in names:
            if self._elements(name) not in sizes:
                also = f", or one for each thread of a block: {sizes[1]}" if len(sizes) > 1 else ""
                are = "are" if counted == "the calls" else "has"
                text = f"{name} has {self._elements(name)} elements and {counted} {are} {calls}"
                message = f"{text}: each call of {instance} takes one{also}"
                self._scope.error(("buffers", name, "shape"), message, *self._file.job.buffers[name].shape)
        for one in arguments:
            is_read = one.given == "buffer" and one.each and not overloads.is_written(one.type)
            if is_read and self._buffers[one.name].is_poisoned:
                self._scope.error(("buffers", one.name), f"has no fill, and {instance} reads it: give it one")

    def _kernel_settings(
        self,
        form: _Form,
        arguments: tuple[FunctionArgument, ...],
        shared: Mapping[str, int],
        result: str,
        calls: int,
    ) -> harness.KernelSettings:
        numbers = {
            one.name: "double" if isinstance(self._numbers[one.name], float) else "long long"
            for one in arguments
            if one.given == "parameter"
        }
        if form.scope != "block":
            return harness.KernelSettings(number_types=numbers)
        every = {one.name for one in arguments if one.given == "buffer" and self._elements(one.name) != calls}
        per_thread = result != "" and self._elements(result) != calls
        return harness.KernelSettings("block", frozenset(every), per_thread, dict(shared), numbers)

    def _host(
        self, instance: FunctionInstance, arguments: tuple[FunctionArgument, ...], form: _Form
    ) -> tuple[str, tuple[str, ...]] | None:
        """Write the host's program and list the library functions that it calls; None if the host cannot call it."""
        key: Key = ("twins", (self._file.job.twins or []).index("host"))
        if not instance.function.is_twofold:
            self._scope.error(key, f"{instance} is not __host__ __device__: the host's compiler has no such function")
            return None
        if form.scope == "block":
            self._scope.error(key, f"{instance} is called by whole blocks (scope: block), which the host has none of")
            return None
        texts = self._source_texts()
        return host.program_text(instance, arguments), declarations.of_function(instance.function, texts)

    def _launch_arguments(self, call: FunctionCall) -> tuple[Argument, ...]:
        result = Argument("buffer", buffer=call.result) if call.result else Argument("null", text="null")
        pointers = [Argument("buffer", buffer=one.name) for one in call.arguments if one.given == "buffer"]
        numbers = [self._number(one.name) for one in call.arguments if one.given == "parameter"]
        data, text = scalar_arguments.pack(dtypes.parse("uint64"), (call.calls,))
        calls = Argument("scalar", dtype="uint64", data=data.hex(), text=text, label="calls")
        return (result, *pointers, *numbers, calls)

    def _number(self, name: str) -> Argument:
        value = self._numbers[name]
        dtype = "float64" if isinstance(value, float) else "int64"
        data, text = scalar_arguments.pack(dtypes.parse(dtype), (value,))
        return Argument("scalar", dtype=dtype, data=data.hex(), text=text, label=name)


@functools.lru_cache(maxsize=_KEPT_TEXTS)
def _functions(texts: tuple[str, ...], name: str) -> tuple[CxxFunction, ...]:
    """Return the device functions of a source, and those of its headers that have a word of this name."""
    macros = declarations.specifier_macros(texts)
    return declarations.device_functions([texts[0], *(text for text in texts[1:] if name in text)], macros)
