"""Parameter types of a captured kernel, from its mangled name or from Triton."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from gpuregress.gpu import demangle
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cxx_types
from gpuregress.toolchain.cxx_declarations import WORD, Declaration, spelled, split

_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|restrict)\b|&")
_NUMBA_ARRAY = re.compile(r"Array<(?P<dtype>.+), (?P<rank>\d+), \w+, (?P<access>mutable|readonly)\b")
_ABI_TAG = re.compile(r"\[abi:[^\]]*\]")
_TRITON = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
_TRITON_PARAMETER = re.compile(r"%(\w+)\s*:\s*(!tt\.ptr<\s*)?(\w+)")


class ParameterType(Record):
    """What is known of a parameter.

    Attributes:
        name: in the source; "" where it is not known.
        dtype: of the scalar, or of the elements behind a pointer; "" where it is not known.
        is_pointer: whether it is a pointer.
        is_const: whether it is a pointer to const.
    """

    name: str = ""
    dtype: str = ""
    is_pointer: bool = False
    is_const: bool = False


@lru_cache(maxsize=4096)
def short_name(mangled: str) -> str:
    """Return the C++ name with template arguments, without return type and parameters: `saxpy<float>`.

    A name that is not mangled is returned as it is. The ABI tags by which Numba tells versions apart are left out.
    """
    text = demangle.full_name(mangled)
    if not text:
        return mangled
    name, _ = demangle.split_parameters(text)
    return _ABI_TAG.sub("", name)


@lru_cache(maxsize=4096)
def of_name(mangled: str) -> tuple[ParameterType, ...]:
    """Return the types of a kernel's parameters, as its mangled name has them; empty where it tells none."""
    text = demangle.full_name(mangled)
    if not text:
        return ()
    _, parameters = demangle.split_parameters(text)
    types: list[ParameterType] = []
    for position, parameter in enumerate(map(spelled, split(WORD.findall(parameters)))):
        array = _NUMBA_ARRAY.match(parameter)
        if array:
            types += _of_numba_array(array, position)
        elif parameter != "void":
            types.append(_of_text(parameter))
    return tuple(types)


def _of_numba_array(array: re.Match[str], position: int) -> list[ParameterType]:
    """The parameters that Numba passes for an array: two addresses, two counts, data, extents and strides."""
    dtype = cxx_types.dtype_of_type(array["dtype"]) or ""
    data = ParameterType(f"array{position}", dtype, is_pointer=True, is_const=array["access"] == "readonly")
    number = ParameterType("", "int64")
    extents_and_strides = 2 * int(array["rank"])
    return [number, number, number, number, data, *extents_and_strides * [number]]


def of_declaration(declaration: Declaration, types: tuple[ParameterType, ...]) -> tuple[ParameterType, ...]:
    """Return the types with the names that the source gives the parameters."""
    written = declaration.parameters
    if not types:
        types = tuple(_of_text(one.type) for one in written)
    if len(types) != len(written):
        return types
    return tuple(
        ParameterType(one.name, type_.dtype, type_.is_pointer, type_.is_const or (one.pointer and one.const))
        for one, type_ in zip(written, types, strict=True)
    )


def of_triton(intermediate: Path, kernel: str) -> tuple[ParameterType, ...]:
    """Return the types of a Triton kernel's parameters, from its intermediate code (`.ttir`); empty where it has none.

    Args:
        intermediate: the file in Triton's cache.
        kernel: its name.
    """
    try:
        text = intermediate.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    pattern = rf"tt\.func\s+(?:public\s+)?@{re.escape(kernel)}\((.*?)\)\s*(?:attributes\b.*?)?\{{\s*$"
    match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    if match is None:
        return ()
    return tuple(
        ParameterType(one[1], _TRITON.get(one[3], ""), bool(one[2])) for one in _TRITON_PARAMETER.finditer(match[1])
    )


def _of_text(text: str) -> ParameterType:
    plain = " ".join(_QUALIFIERS.sub(" ", text).split())
    pointers = len(plain) - len(plain.replace(" ", "").rstrip("*")) - plain.count(" ")
    if pointers > 1:
        return ParameterType("", "uint64", is_pointer=True)
    plain = plain.rstrip("* ")
    dtype = cxx_types.dtype_of_type(plain) or ""
    if pointers and plain in ("void", "char"):
        dtype = "uint8"
    is_const = bool(pointers) and re.search(r"\bconst\b", text.rpartition("*")[0]) is not None
    return ParameterType("", dtype, bool(pointers), is_const)
