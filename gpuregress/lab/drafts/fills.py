"""Fills of drafted buffers, from what the host code stores into them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.gpu.records import Record
from gpuregress.lab.drafts import types
from gpuregress.lab.drafts.kernel import default_argument, default_fill, guessed_argument, with_arguments
from gpuregress.lab.drafts.types import KnownTypes
from gpuregress.lab.host_programs import objects, scalars
from gpuregress.lab.host_programs.calls import UNKNOWN_ARGUMENT
from gpuregress.lab.host_programs.objects import ArrayPointer, HostArray, HostTexture, Object, SeenLaunch, Structure
from gpuregress.lab.host_programs.program import HostFiles
from gpuregress.lab.host_programs.scalars import HostScalar
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code.preprocessing import WORD


class DraftedFill(Record):
    """A fill, and whether the host code tells it; else it is a guess."""

    text: str
    is_told: bool


def fill_of(memory: HostArray, dtype: str) -> DraftedFill:
    """Write what the host code puts into an array, as a fill.

    Args:
        memory: the array.
        dtype: of its elements.
    """
    contents = memory.contents
    if contents.stored is None and contents.is_zeroed:
        return DraftedFill("zeros", contents.is_certain)
    if contents.stored is not None and not dtype.startswith("{") and dtype != "bool":
        text = _fill_of_number(contents.stored, dtype)
        if text is not None:
            return DraftedFill(text, contents.is_certain and _has_elements_of(memory, dtype))
    return DraftedFill(default_fill(dtype), is_told=False)


def _fill_of_number(stored: HostScalar, dtype: str) -> str | None:
    """Write the fill for the first number of an array; None where it has none."""
    parts = dtypes.parse(dtype).parts
    kind = parts[0].scalar
    is_scalar = len(parts) == 1
    low, high = sorted((stored.number, stored.top))
    if not math.isfinite(high - low) or max(abs(low), abs(high)) > 2**64:
        return None
    if stored.high is not None:
        if low < high and kind.is_float:
            return f"{{uniform: {{low: {float(low)!r}, high: {float(high)!r}}}}}"
        smallest, largest = kind.bounds
        if is_scalar and smallest <= low < min(int(high), largest):
            return f"{{integers: {{low: {int(low)}, high: {min(int(high) + 1, largest)}}}}}"
        return None
    if stored.op == "loop" or (stored.op == "float" and stored.operands[0].op == "loop"):
        return "arange" if is_scalar else None
    if scalars.depends_on_loop(stored) or not stored.is_known:
        return None
    number = float(stored.number) if kind.is_float else wrapped(int(stored.number), kind)
    if not number:
        return "zeros"
    return f"{{value: {number!r}}}"


def _has_elements_of(memory: HostArray, dtype: str) -> bool:
    """Tell whether the host code's elements are those of the buffer, as far as its types are known."""
    declared = dtype_of_type(memory.element)
    return declared is None or dtypes.parse(dtype).parts[0].scalar.holds(dtypes.parse(declared).parts[0].scalar)


def wrapped(number: int, kind: Scalar) -> int:
    """Convert a number to an integer type, as C++ does.

    Args:
        number: any.
        kind: the type.
    """
    smallest, largest = kind.bounds
    return (number - smallest) % (largest - smallest + 1) + smallest


# --- launches of the host code that may have written an array before a kernel reads it --------------------------------


def last_writer(
    memory: HostArray, launches: Sequence[SeenLaunch], program: HostFiles, known: KnownTypes, *, is_strict: bool = False
) -> SeenLaunch | None:
    """Return the last launch whose kernel may write an array, as far as const tells; None where there is none.

    Args:
        memory: the array.
        launches: in the order of the program.
        program: what the files define.
        known: of the types of the kernels' parameters.
        is_strict: whether a kernel of which no declaration is seen counts as one that writes what it is given.
    """
    for launch in reversed(launches):
        kernel = program.kernel(launch.kernel)
        if kernel is None and is_strict and memory in arrays(launch.arguments):
            return launch
        if kernel is None:
            continue
        for parameter, value in zip(kernel.parameters, launch.arguments, strict=False):
            if not parameter.const and any(array is memory for array in _written(parameter, value, known)):
                return launch
    return None


def arrays(values: Sequence[Object | None]) -> list[HostArray]:
    """List the arrays that arguments point to, and the members of structures among them."""
    found: list[HostArray] = []
    for value in values:
        if isinstance(value, (ArrayPointer, HostTexture)) and value.memory is not None:
            found.append(value.memory)
        elif isinstance(value, Structure):
            found += arrays([cell.value for cell in value.members.values()])
    return found


def _written(parameter: CxxParameter, value: Object | None, known: KnownTypes) -> Iterator[HostArray | None]:
    """List the arrays that a kernel may write through an argument."""
    type_ = types.plain(parameter.type)
    layout = known.layouts.get(type_)
    if isinstance(value, ArrayPointer) or (isinstance(value, HostTexture) and type_ == "cudaSurfaceObject_t"):
        yield value.memory
    elif layout is not None:
        for field in layout.fields:
            member = objects.member_of(value, field.path)
            if isinstance(member, ArrayPointer) and "const" not in field.type:
                yield member.memory
    elif isinstance(value, Structure):
        for cell in value.members.values():
            yield from _written(parameter, cell.value, known)


# --- template arguments of a kernel in its draft, from a launch in host code ------------------------------------------


def instance_of(declaration: Declaration, launch: SeenLaunch) -> tuple[dict[str, str], str, list[str]]:
    """Return template parameter → argument, the kernel's name with them, and the parameters that are a guess.

    What the launch does not give is deduced from its arguments' types, or is the default.

    Args:
        declaration: the kernel.
        launch: of it.
    """
    chosen: dict[str, str] = {}
    guessed: list[str] = []
    given = list(launch.template)
    for number, text in enumerate(declaration.template):
        kind, _, default = (part.strip() for part in text.partition("="))
        default = default_argument(default, chosen)
        name = [f"T{number}", *WORD.findall(kind)][-1]
        is_type = kind.startswith(("typename", "class"))
        value = given[number] if number < len(given) else ""
        if UNKNOWN_ARGUMENT in value or value == name:  # a variable of the host of the parameter's name
            value = ""
        if is_type and (not value or (dtype_of_type(value) is None and re.fullmatch(r"\w{1,2}|scalar_t", value))):
            value = _deduced(declaration, launch, name) or default
        if not is_type and not re.fullmatch(r"-?\d+|true|false|[\w:]*[A-Za-z][\w:]*", value):
            value = default
        if not value:
            guessed.append(name)
            value = guessed_argument(kind)
        declared = kind.removesuffix(name).strip()
        if not is_type and dtype_of_type(declared) is None and re.fullmatch(r"-?\d+", value) and "auto" not in declared:
            value = f"({declared}){value}"  # an enumerator: no number is converted to it
        if kind.startswith("bool"):
            value = {"0": "false", "1": "true"}.get(value, value)
        chosen[name] = value
    return chosen, with_arguments(declaration.name, chosen, declaration.template), guessed


def _deduced(declaration: Declaration, launch: SeenLaunch, name: str) -> str:
    for parameter, type_ in zip(declaration.parameters, launch.types, strict=False):
        plain = " ".join(re.sub(r"\bconst\b|[*&]", " ", parameter.type).split())
        given = type_.rstrip("*& ")
        if plain == name and dtype_of_type(given) is not None:
            return given
    return ""
