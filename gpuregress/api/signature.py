"""Signature of a kernel, and the encoding of Python values as its arguments."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuregress.api import arrays
from gpuregress.api.arrays import ArrayBytes
from gpuregress.foundation import dtypes
from gpuregress.foundation.document import units
from gpuregress.foundation.records import Argument, Dim3, Entry, Parameter
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cxx_aliases, cxx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type


def whole(what: str, given: Any, least: int) -> int:
    """Return a whole number.

    Args:
        what: the argument's name.
        given: its value.
        least: the smallest number that it may be.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is smaller.
    """
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{what} is {given!r}: expected a whole number") from None
    if number < least:
        raise ValueError(f"{what} is {number}: expected at least {least}")
    return number


def seconds(what: str, given: Any) -> float:
    """Return a time limit in seconds; text may have a unit, as `2min`.

    Args:
        what: the argument's name.
        given: its value.

    Raises:
        TypeError: it is neither a number nor text.
        ValueError: it is not above 0, or longer than 30 days.
    """
    if isinstance(given, bool) or not isinstance(given, int | float | str | np.integer | np.floating):
        raise TypeError(f"{what} is {given!r}: expected a number of seconds")
    try:
        return units.seconds(given.item() if isinstance(given, np.generic) else given)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def text(what: str, given: Any) -> str:
    """Return a text that is not empty.

    Args:
        what: the argument's name.
        given: its value.

    Raises:
        TypeError: it is no text.
        ValueError: it is empty.
    """
    if not isinstance(given, str):
        raise TypeError(f"{what} is {given!r}: expected text")
    if not given.strip():
        raise ValueError(f"{what} is empty")
    return given


def items(what: str, given: Any, kinds: type | tuple[type, ...]) -> tuple[Any, ...]:
    """Return one or several values as a tuple: a lone one is one value.

    Args:
        what: the argument's name.
        given: a value, or several.
        kinds: the types that a value may have.

    Raises:
        TypeError: a value is of another type.
    """
    if isinstance(given, kinds):
        return (given,)
    values = (given,)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        values = tuple(given)
    for value in values:
        if not isinstance(value, kinds):
            raise TypeError(f"{what} is {given!r}: expected text, or a list of it")
    return values


def mapping(what: str, given: Any) -> dict[str, Any]:
    """Return a mapping with names as its keys; an empty one for None.

    Args:
        what: the argument's name.
        given: its value.

    Raises:
        TypeError: it is no mapping, or a key is no text.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} is {given!r}: expected a dict, name → value")
    return {text(f"a name in {what}", name): value for name, value in given.items()}


def extents(what: str, given: Any) -> Dim3:
    """Return the extents along x, y, z of a grid, a block or a cluster.

    Args:
        what: the argument's name.
        given: a number, or one to three.

    Raises:
        TypeError: it is no whole number.
        ValueError: it has more than three axes, or an extent below 1.
    """
    extents_given = (given,)
    if isinstance(given, Sequence | np.ndarray) and np.ndim(given) == 1:
        extents_given = tuple(given)
    try:
        numbers = tuple(operator.index(number) for number in extents_given)
    except TypeError:
        raise TypeError(f"{what} is {given!r}: expected one to three whole numbers") from None
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise ValueError(f"{what} is {given}: expected one to three numbers of at least 1")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


class KernelParameter(Record):
    """A parameter of a kernel.

    Attributes:
        position: from 0.
        compiled: as the compiled code declares it.
        type: its C++ type, as `const float*`; "" where the source does not tell.
        dtype: of the number, or of what the pointer points to; "" where that is not known.
    """

    position: int
    compiled: Parameter
    type: str = ""
    dtype: str = ""

    @property
    def name(self) -> str:
        """Its name, or `argument 2` where the source gives none."""
        return self.compiled.name or f"argument {self.position}"

    @property
    def is_pointer(self) -> bool:
        """Whether it takes an array; a word of PTX may be a number as well."""
        return self.compiled.kind == "pointer"

    @property
    def is_input(self) -> bool:
        """Whether the kernel promises not to write what it points to."""
        return self.compiled.const

    def __str__(self) -> str:
        """`float* y`, or what the compiled code tells."""
        return f"{self.type} {self.name}" if self.type else f"{self.name} ({self.compiled.kind})"


class Signature(Record):
    """The parameters of a kernel.

    Attributes:
        kernel: its C++ name.
        parameters: in order.
    """

    kernel: str
    parameters: tuple[KernelParameter, ...]

    def __str__(self) -> str:
        """`axpy(float* y, const float* x, float a, int n)`."""
        return f"{self.kernel}({', '.join(map(str, self.parameters))})"

    def check_count(self, given: Sequence[Any]) -> None:
        """Compare the number of arguments.

        Raises:
            TypeError: it is another one.
        """
        if len(given) != len(self.parameters):
            raise TypeError(f"{self} takes {len(self.parameters)} arguments; {len(given)} were given")


def of(entry: Entry, kernel: str, text: str, defines: Mapping[str, str] | None = None) -> Signature:
    """Return the signature of a compiled kernel.

    Args:
        entry: of the program.
        kernel: its C++ name.
        text: of its source; "" for PTX.
        defines: macros of the compilation.
    """
    declared = cxx_declarations.find(cxx_declarations.declarations(text), kernel, len(entry.parameters))
    if declared is None:
        unknown = [KernelParameter(position, compiled) for position, compiled in enumerate(entry.parameters)]
        return Signature(kernel, tuple(unknown))
    written = _written(kernel, declared)
    pointees = cxx_aliases.pointees(kernel, declared, cxx_aliases.aliases([text], defines or {}))
    parameters = []
    for position, compiled in enumerate(entry.parameters):
        type_ = written[position] if written else ""
        pointee = type_
        if compiled.kind == "pointer":
            pointee = type_.rstrip().removesuffix("*")
        dtype = None
        if type_ and "*" not in pointee:
            dtype = dtype_of_type(pointee.replace("const", " "))
        if dtype is None and pointees and compiled.kind == "pointer":
            dtype = pointees[position]
        parameters.append(KernelParameter(position, compiled, type_, dtype or ""))
    return Signature(kernel, tuple(parameters))


def _written(kernel: str, declared: Declaration) -> list[str]:
    """The C++ types of a kernel's parameters."""
    arguments: dict[str, str] = {}
    for words, argument in zip(declared.template, cxx_declarations.template_arguments(kernel), strict=False):
        name = "".join(words.split()[-1:])
        arguments[name] = argument
    return [_substitute(parameter.type, arguments) for parameter in declared.parameters]


def _substitute(type_: str, arguments: Mapping[str, str]) -> str:
    words = [match[0] for match in cxx_declarations.WORD.finditer(type_)]
    return cxx_declarations.spelled([arguments.get(word, word) for word in words])


def check_array(parameter: KernelParameter, array: ArrayBytes, kernel: str) -> None:
    """Compare an array with what a parameter points to.

    Raises:
        TypeError: the parameter is no pointer, or its elements are of another type.
    """
    if parameter.compiled.kind not in ("pointer", "word"):
        raise TypeError(f"{kernel}: {parameter.name} is {parameter.type or 'a number'}, and an array was given")
    _check_elements(f"{kernel}: {parameter.name} is {parameter.type}", parameter.dtype, array)


def check_variable(symbol: str, array: ArrayBytes, kernel: str, text: str, defines: Mapping[str, str]) -> None:
    """Compare an array with the variable that it fills, as far as the source tells its type.

    Args:
        symbol: the variable, with or without namespaces.
        array: its contents.
        kernel: for messages.
        text: of the source.
        defines: macros of the compilation.

    Raises:
        TypeError: its elements are of another type.
    """
    written = cxx_declarations.variable_types(text).get(symbol.rpartition("::")[2], "")
    dtype = None
    if written:
        dtype = cxx_aliases.dtype_of(written, cxx_aliases.aliases([text], defines))
    _check_elements(f"{kernel}: the variable {symbol} is {written}", dtype or "", array)


def _check_elements(what: str, dtype: str, array: ArrayBytes) -> None:
    """Raise TypeError where the elements of an array are not those that are declared, "" for unknown ones."""
    if not dtype:
        return
    wanted = dtypes.parse(dtype)
    given = dtypes.parse(array.dtype) if array.dtype else None
    if given is None and array.itemsize % wanted.size == 0:
        return  # a structure: its layout is the caller's
    if given is not None and _fits(wanted, given):
        return
    shown = array.dtype or f"elements of {array.itemsize} bytes"
    hint = f"; pass it as {dtype}" if dtype in np.sctypeDict else ""
    raise TypeError(f"{what}, and an array of {shown} was given{hint}")


def _fits(wanted: dtypes.ElementType, given: dtypes.ElementType) -> bool:
    """Whether elements mean the same where others are wanted; bfloat16 has no name in numpy, and may be uint16."""
    for part, other_part in itertools.product(wanted.parts, given.parts):
        scalar, other = part.scalar, other_part.scalar
        is_bfloat = scalar.kind == "bfloat" and other.name == "uint16"
        if not is_bfloat and not scalar.holds(other):
            return False
    return True


def scalar(parameter: KernelParameter, value: Any, kernel: str) -> Argument:
    """Encode a number, a structure or None.

    Args:
        parameter: that takes it.
        value: a Python or numpy number; bytes or a numpy structure of the parameter's size; None for a null pointer.
        kernel: for messages.

    Raises:
        TypeError: it is of another kind.
        OverflowError: the parameter cannot hold it.
    """
    compiled = parameter.compiled
    if value is None:
        if compiled.kind in ("pointer", "word"):
            return Argument("null", text="null")
        raise TypeError(f"{kernel}: {parameter.name} is {parameter.type or compiled.kind}, and None was given")
    if compiled.kind == "pointer":
        raise TypeError(f"{kernel}: {parameter.name} is a pointer, and {value!r} was given: pass an array, or None")
    data = _raw(value)
    if compiled.kind == "struct" and data is None:
        what = "pass bytes, or a numpy scalar or structure"
        raise TypeError(f"{kernel}: {parameter.name} is {parameter.type or 'bits'} of {compiled.size} bytes: {what}")
    is_plain = compiled.kind != "struct" and not isinstance(value, bytes | bytearray | memoryview | np.void)
    if is_plain and not (compiled.kind == "word" and isinstance(value, np.float64)):
        data = _number(parameter, value, kernel)
    assert data is not None
    if len(data) != compiled.size:
        raise TypeError(f"{kernel}: {parameter.name} has {compiled.size} bytes; {len(data)} were given")
    return encoded(data, str(value))


def encoded(data: bytes, text: str = "") -> Argument:
    """Return an argument of these very bytes.

    Args:
        data: as the parameter space holds them.
        text: as the launch log would write it.
    """
    carrier = {1: "uint8", 2: "uint16", 4: "uint32"}.get(len(data), "uint64")
    return Argument("scalar", dtype=carrier, data=data.hex(), text=text)


def _raw(value: Any) -> bytes | None:
    """The bytes of a value that is no number of the language."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, np.generic | np.ndarray):
        return bytes(value.tobytes())
    return None


def _number(parameter: KernelParameter, value: Any, kernel: str) -> bytes:
    size = parameter.compiled.size
    parts = dtypes.parse(parameter.dtype).parts if parameter.dtype else ()
    if len(parts) > 1:
        raise TypeError(f"{kernel}: {parameter.name} is {parameter.type}: pass a numpy structure of {size} bytes")
    known = None
    if parts and not parts[0].name:
        known = parts[0].scalar
    is_float = parameter.compiled.kind == "float" if known is None else known.is_float
    if is_float:
        return _float(parameter, value, known, kernel)
    if isinstance(value, np.bool_):
        value = bool(value)  # numpy's has no __index__
    try:
        whole = operator.index(value)
    except TypeError:
        if parameter.compiled.kind == "word" and isinstance(value, float) and size == 8:
            raise TypeError(f"{kernel}: {parameter.name} may be a number of any type: pass numpy.float64(…)") from None
        raise TypeError(f"{kernel}: {parameter.name} is {_shown(parameter)}, and {value!r} was given") from None
    if known is not None:
        low, high = known.bounds
    else:
        low, high = -(1 << (8 * size - 1)), (1 << (8 * size)) - 1
    if not low <= whole <= high:
        raise OverflowError(f"{kernel}: {parameter.name} is {_shown(parameter)}, which cannot hold {whole}")
    return (whole & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def _shown(parameter: KernelParameter) -> str:
    return parameter.type or f"an integer of {parameter.compiled.size} bytes"


def _float(parameter: KernelParameter, value: Any, known: dtypes.Scalar | None, kernel: str) -> bytes:
    try:
        number = float(value) if not isinstance(value, str) else None
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{kernel}: {parameter.name} is {_floating(parameter)}, and {value!r} was given")
    if known is not None and known.kind == "bfloat":
        return bytes(dtypes.from_float32(np.array([number], np.float32)).tobytes())
    storage = np.dtype(f"<f{parameter.compiled.size}")
    with np.errstate(over="ignore"):
        stored = np.array(number).astype(storage)
    if math.isfinite(number) and not np.isfinite(stored):
        raise OverflowError(f"{kernel}: {parameter.name} is {_floating(parameter)}, which cannot hold {number}")
    return bytes(stored.tobytes())


def _floating(parameter: KernelParameter) -> str:
    return parameter.type or f"a float of {parameter.compiled.size} bytes"


def is_array(value: Any) -> bool:
    """Tell whether a value is passed by a pointer."""
    return arrays.is_array(value) and not isinstance(value, np.void)
