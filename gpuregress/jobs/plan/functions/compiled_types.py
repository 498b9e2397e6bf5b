"""Check of the buffers of a function under test against the types that the compiler found."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import Case, FunctionArgument, FunctionCall, Program, TypeLayout
from gpuregress.jobs.plan import record_layouts
from gpuregress.toolchain.functions import harness
from gpuregress.toolchain.functions.harness import CompiledType

_KINDS = {"bool": ("bool",), "int": ("int",), "uint": ("uint",), "float": ("float",), "enum": ("int", "uint")}


def contradictions(case: Case, program: Program) -> dict[Key, str]:
    """Compare the buffers of a function under test with its compiled signature.

    Args:
        case: with a function.
        program: its compiled source.

    Returns:
        Key of the job → what is wrong with it.
    """
    call = case.function
    types = _signature(program.ptx) if call is not None and program.ptx else None
    if call is None or types is None:
        return {}
    errors: dict[Key, str] = {}
    result, *layouts = [*program.types.get(call.name, ()), *[None] * len(types)][: len(types)]
    for argument, type_, layout in zip(call.arguments, types[1:], layouts, strict=False):
        if argument.given == "buffer":
            shown = f"parameter {argument.name!r} of {call.declared} is {argument.type}"
            problem = _dtype_problem(case.buffers[argument.name].dtype, type_, layout)
            if problem:
                errors["buffers", argument.name, "dtype"] = (
                    f"{argument.name} is {problem[0]}, and {shown}: {problem[1]}"
                )
        elif argument.given == "parameter" and (wrong := _number_problem(case, argument, type_)):
            errors["parameters", argument.name] = wrong
    errors |= _result_problem(case, call, types[0], result)
    return errors


def _signature(ptx: str) -> tuple[CompiledType, ...] | None:
    try:
        return harness.signature(Path(ptx).read_text(encoding="utf-8"))
    except OSError:  # the device says so when it loads it
        return None


def _result_problem(case: Case, call: FunctionCall, type_: CompiledType, layout: TypeLayout | None) -> dict[Key, str]:
    if type_.kind == "void":
        if not call.result:
            return {}
        return {("buffers", call.result): f"{call.declared} returns nothing, so nothing would be in {call.result}"}
    if not call.result:
        return {("buffers",): f"there is no buffer 'result' for what {call.declared} returns, {_described(type_)}"}
    problem = _dtype_problem(case.buffers[call.result].dtype, type_, layout)
    if problem is None:
        return {}
    return {("buffers", call.result, "dtype"): f"result is {problem[0]}, and {call.declared} returns {problem[1]}"}


def _dtype_problem(dtype: str, type_: CompiledType, layout: TypeLayout | None) -> tuple[str, str] | None:
    """Describe a buffer's dtype and the type that it does not fit; None where it does."""
    if layout is not None and layout.kind == "class":
        problem = record_layouts.buffer_problem(dtype, layout)
        return None if problem is None else (dtype, f"{record_layouts.shown(layout)}: {problem}")
    element = dtypes.parse(dtype)
    if type_.kind == "void":  # a pointer to anything
        return None
    fits = element.size == type_.size
    if type_.kind in _KINDS:
        fits = fits and len(element.parts) == 1 and element.parts[0].scalar.kind in _KINDS[type_.kind]
    if type_.kind == "pointer":
        return dtype, "a pointer, and a buffer holds none"
    return None if fits else (f"{dtype} of {_bytes(element.size)}", _described(type_))


def _number_problem(case: Case, argument: FunctionArgument, type_: CompiledType) -> str | None:
    value = case.parameters[argument.name]
    if type_.kind in ("int", "uint", "enum"):
        bits = 8 * type_.size
        low, high = (0, 2**bits - 1) if type_.kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if value != int(value) or not low <= value <= high:
            return f"{argument.name} is {value}, and the parameter is {argument.type}: {_described(type_)}"
    if type_.kind in ("class", "pointer"):
        return f"{argument.name} is a number, and the parameter is {argument.type}: give it a buffer {argument.name}"
    return None


def _described(type_: CompiledType) -> str:
    names = {
        "bool": "bool",
        "int": f"int{8 * type_.size}",
        "uint": f"uint{8 * type_.size}",
        "float": f"float{8 * type_.size}",
        "enum": f"an enumeration of {_bytes(type_.size)}",
        "class": f"a struct of {_bytes(type_.size)}",
    }
    return names.get(type_.kind, type_.kind)


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"
