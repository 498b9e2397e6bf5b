"""Fills from a file, and from the user's own Python function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import conversion, dtypes, usermodules
from gpuregress.conversion import NotRepresentable
from gpuregress.dtypes import ElementType
from gpuregress.errors import HarnessError, UserCodeError
from gpuregress.records import Buffer, InputFile, PythonFunction

Array = npt.NDArray[Any]


def load(buffer: Buffer, element: ElementType, read_dump: Callable[[Path], Any] | None) -> Array:
    """A buffer's contents from a dump, `.npy` or raw `.bin`.

    Raises:
        HarnessError: the file does not hold what the buffer needs.
    """
    path = _path(buffer)
    try:
        if path.suffix == ".bin":
            return _from_bytes(buffer, element, path)
        if path.suffix == ".npy":
            return shaped(buffer, element, _npy(path), str(path))
    except (OSError, ValueError) as error:
        raise HarnessError(f"buffer {buffer.name}: {path} cannot be read: {error}") from None
    if read_dump is None:
        raise HarnessError(f"buffer {buffer.name}: {path} is neither .npy nor .bin, and dumps cannot be read here")
    loaded = read_dump(path)
    held = loaded.header.element_type
    array = loaded.array if held.name == element.name else _numbers(loaded.array, held, path)
    return shaped(buffer, element, array, str(path), keep_nans=True)


def _numbers(array: Array, held: ElementType, path: Path) -> Array:
    """A dump's elements as plain numbers, the parts as the last axis."""
    if len({part.scalar for part in held.parts}) > 1:
        raise HarnessError(f"{path} holds records of {held.name}: only a buffer of that very dtype can take them")
    columns = zip(held.columns(array), held.parts, strict=True)
    return np.stack([dtypes.to_float(column, part.scalar) for column, part in columns], axis=-1)


def call(buffer: Buffer, element: ElementType) -> Array:
    """A buffer's contents from `/abs/module.py:function`.

    The function gets those of `name`, `shape`, `dtype` and `seed` that it takes, by name, and returns an array.

    Raises:
        UserCodeError: it cannot be imported, fails, or returns what the buffer cannot hold.
    """
    assert buffer.fill is not None
    assert isinstance(buffer.fill.options, PythonFunction), "only such a fill calls a function"
    text = buffer.fill.options.function
    function = _import(text)
    given = {"name": buffer.name, "shape": buffer.shape, "dtype": element.storage, "seed": buffer.fill.seed}
    try:
        taken = inspect.signature(function).parameters
        everything = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in taken.values())
        result = function(**{name: value for name, value in given.items() if everything or name in taken})
    except Exception as error:  # the user's code may raise anything
        reason = usermodules.describe_error(error, text.rpartition(":")[0])
        raise UserCodeError(f"buffer {buffer.name}: {text} failed: {reason}") from error
    if result is None:
        raise UserCodeError(f"buffer {buffer.name}: {text} returned nothing; expected an array")
    try:
        return _returned(buffer, element, conversion.as_array(result))
    except NotRepresentable as error:
        raise UserCodeError(f"buffer {buffer.name}: {text} holds {error}") from None


def _returned(buffer: Buffer, element: ElementType, array: Array) -> Array:
    """A function's array: flat, or of the buffer's very shape, for a transposed one has as many elements.

    Raises:
        NotRepresentable: the buffer cannot hold it.
    """
    count, parts = math.prod(buffer.shape), len(element.parts)
    shapes = (buffer.shape, (*buffer.shape, parts), (count, parts))
    if array.ndim > 1 and array.shape not in shapes and array.size in (count, count * parts):
        raise NotRepresentable(f"expected an array of shape {list(buffer.shape)}, got {list(array.shape)}")
    return conversion.convert(array, element, buffer.shape)


def shaped(buffer: Buffer, element: ElementType, array: Array, origin: str, *, keep_nans: bool = False) -> Array:
    """Convert an array to a buffer's shape and type.

    Args:
        buffer: that it belongs to.
        element: its type.
        array: see `conversion.convert`.
        origin: what messages call it.
        keep_nans: the bits of its NaNs are meant.

    Raises:
        HarnessError: the count does not fit, or a number cannot be stored without loss of more than rounding.
    """
    try:
        return conversion.convert(array, element, buffer.shape, keep_nans=keep_nans)
    except NotRepresentable as error:
        raise HarnessError(f"buffer {buffer.name}: {origin} holds {error}") from None


def size_problem(buffer: Buffer, element: ElementType) -> str | None:
    """Explain why a `.bin` or `.npy` does not fit a buffer, from its size and header; None if it fits."""
    path, count = _path(buffer), math.prod(buffer.shape)
    try:
        if path.suffix == ".bin":
            size = path.stat().st_size
            if size != count * element.size:
                return f"{path} has {size} bytes and {count} elements of {element.name} need {count * element.size}"
        if path.suffix == ".npy":
            held = _npy(path)
            is_whole = held.dtype == element.storage or held.dtype.kind in "cV"  # a value is an element, not a part
            needed = count if is_whole else count * len(element.parts)
            if held.size != needed and not (held.size == count and element.storage.kind == "c"):
                return f"{path} holds {held.size} values and {list(buffer.shape)} of {element.name} needs {needed}"
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {error}"
    return None


def _npy(path: Path) -> Array:
    """The array of a `.npy` file, mapped.

    Raises:
        ValueError: it is none.
        OSError: it cannot be read.
    """
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError):
        raise
    except Exception as error:  # numpy parses the header as Python, which may raise anything
        raise ValueError(f"it is not a whole .npy ({type(error).__name__})") from error


def _path(buffer: Buffer) -> Path:
    assert buffer.fill is not None
    assert isinstance(buffer.fill.options, InputFile), "only such a fill has a path"
    return Path(buffer.fill.options.path)


def _from_bytes(buffer: Buffer, element: ElementType, path: Path) -> Array:
    data = path.read_bytes()
    count = math.prod(buffer.shape)
    if len(data) != count * element.size:
        needed = count * element.size
        raise HarnessError(f"buffer {buffer.name}: {path} has {len(data)} bytes; expected {needed}")
    return shaped(buffer, element, np.frombuffer(data, element.storage), str(path), keep_nans=True)


def _import(text: str) -> Callable[..., Any]:
    try:
        return usermodules.load(text)
    except usermodules.UserModuleError as error:
        raise UserCodeError(str(error)) from error
