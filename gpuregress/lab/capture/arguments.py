"""Arguments of a captured launch as a job writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Parameter
from gpuregress.lab.capture.buffers import Layout, Placed
from gpuregress.lab.capture.records import CapturedLaunch, RawParameter
from gpuregress.lab.capture.signature import ParameterType

_INTEGERS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


def write(
    launch: CapturedLaunch, layout: Layout, types: Sequence[ParameterType], compiled: Sequence[Parameter]
) -> tuple[list[str], list[str]]:
    """Write the arguments of a launch.

    Args:
        launch: with its parameters.
        layout: its buffers.
        types: of its parameters, as far as they are known.
        compiled: its parameters as PTX declares them; empty where there is no PTX.

    Returns:
        the arguments, and remarks about those that a job cannot give as they were.
    """
    texts, remarks = [], []
    for position, parameter in enumerate(launch.parameters):
        type_ = types[position] if position < len(types) else ParameterType()
        kind = compiled[position].kind if position < len(compiled) else ""
        inside = [one for one in layout.pointers if 0 <= one.at - parameter.offset < len(parameter.data)]
        if inside and len(parameter.data) == 8:
            texts.append(_pointer(layout, inside[0]))
        elif inside or kind == "struct" or len(parameter.data) not in _INTEGERS:
            texts.append(_struct(layout, parameter, inside))
        elif kind == "pointer" or (type_.is_pointer and len(parameter.data) == 8):
            texts.append("null")
            if any(parameter.data):
                address = int.from_bytes(parameter.data, "little")
                remarks.append(f"argument {position} was 0x{address:x}, which lies in no allocation; it is null here")
        else:
            texts.append(_scalar(parameter.data, type_.dtype, kind))
    return texts, remarks


def _pointer(layout: Layout, placed: Placed) -> str:
    name = layout.buffers[placed.buffer].name
    return f"{{pointer: {name}, offset: {placed.offset}}}" if placed.offset else name


def _struct(layout: Layout, parameter: RawParameter, inside: Sequence[Placed]) -> str:
    """A struct: its pointers, and all else as words of four bytes, or of one where its size asks for that."""
    pointers = {one.at - parameter.offset: one for one in inside}
    size = len(parameter.data)
    step = next(width for width in (4, 2, 1) if size % width == 0)
    members, at = [], 0
    while at < size:
        if at in pointers:
            members.append(_pointer(layout, pointers[at]))
            at += 8
            continue
        members.append(f"{{{_INTEGERS[step]}: {int.from_bytes(parameter.data[at : at + step], 'little')}}}")
        at += step
    return f"{{struct: [{', '.join(members)}]}}"


def _scalar(data: bytes, dtype: str, kind: str) -> str:
    """A number of a dtype that has these bytes."""
    wanted = dtype if (dtype and kind != "integer") or "int" in dtype or dtype == "bool" else ""
    if not wanted and kind == "float":
        wanted = {2: "float16", 4: "float32", 8: "float64"}[len(data)]
    for name in (wanted, f"int{8 * len(data)}", _INTEGERS[len(data)]):
        text = _text(data, name) if name else None
        if text is not None:
            return f"{{{name}: {text}}}"
    raise AssertionError("an unsigned integer has any bytes")


def _text(data: bytes, name: str) -> str | None:
    """The number's text, if it gives the same bytes back."""
    element = dtypes.parse(name)
    if len(element.parts) != 1 or element.size != len(data):
        return None
    scalar = element.parts[0].scalar
    if scalar.kind == "bool":
        return {b"\0": "false", b"\1": "true"}.get(data)
    if scalar.kind in ("int", "uint"):
        return str(int.from_bytes(data, "little", signed=scalar.kind == "int"))
    if scalar.kind == "bfloat":
        return None
    value = np.frombuffer(data, scalar.storage)[0]
    if not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    text = str(value)
    return text if scalar.storage.type(text).tobytes() == data else None
