"""Fills from a file, and from the user's own Python function."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes, usermodules
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import GpuregressError, HarnessError, UserCodeError
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.numeric.conversion import NotRepresentable
from gpuregress.foundation.records import Buffer, InputFile, PythonFunction
from gpuregress.foundation.storage import is_compressed
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import Record
from gpuregress.jobs.inputs import text_files
from gpuregress.store.dumps import reader
from gpuregress.store.dumps.files import Header

Array = npt.NDArray[Any]
_MEMBER = re.compile(r"(?P<path>.+\.npz):(?P<member>[^:]+)", re.DOTALL)
_DUMP = b"# gpuregress"


def split_member(text: str) -> tuple[Path, str]:
    """Split `x.npz:name` into the archive and the name of an array; "" for other files."""
    match = _MEMBER.fullmatch(text)
    return (Path(match["path"]), match["member"]) if match else (Path(text), "")


def dump_header(text: str) -> Header | None:
    """Read the type and shape of a dump, which may be compressed; None where a file does not begin as one.

    Args:
        text: the file's path, also of an array of an archive.

    Raises:
        OSError: it cannot be read.
        GpuregressError: it is a dump, and damaged.
    """
    path = split_member(text)[0]
    with path.open("rb") as file:
        is_dump = file.read(len(_DUMP)) == _DUMP
    return reader.read_header(path) if is_dump or is_compressed(path) else None


class FileValues(Record):
    """The values of a file.

    Attributes:
        array: in the file's own dtype and shape; for a dump of another element type, numbers with its parts as the
            last axis.
        keep_nans: whether the bits of its NaNs are meant.
    """

    array: Array
    keep_nans: bool = False


def load(buffer: Buffer, element: ElementType) -> Array:
    """A buffer's contents from a file.

    Raises:
        HarnessError: the file does not hold what the buffer needs.
    """
    text = _path(buffer)
    try:
        values = read(text, element)
    except HarnessError as error:
        raise HarnessError(f"buffer {buffer.name}: {error}") from None
    return shaped(buffer, element, values.array, text, keep_nans=values.keep_nans)


def read(text: str, element: ElementType) -> FileValues:
    """Read the values of a dump, `.npy`, `.npz`, raw `.bin`, or text of numbers.

    Args:
        text: the file's path; `x.npz:name` is one array of an archive.
        element: of the buffer: of raw bytes, and of text, whose columns are its parts.

    Raises:
        HarnessError: the file cannot be read, or is none of these.
    """
    path, member = split_member(text)
    try:
        if path.suffix == ".bin":
            return FileValues(_from_bytes(element, path), keep_nans=True)
        if path.suffix == ".npy":
            return FileValues(_npy(path))
        if path.suffix == ".npz":
            return FileValues(_npz(path, member))
        if dump_header(text) is None:
            return FileValues(text_files.read(path, element))
    except (OSError, ValueError) as error:
        raise HarnessError(f"{path} cannot be read: {error}") from None
    loaded = reader.read(path)
    held = loaded.header.element_type
    array = loaded.array if held.name == element.name else _numbers(loaded.array, held, path)
    return FileValues(array, keep_nans=True)


def _numbers(array: Array, held: ElementType, path: Path) -> Array:
    """A dump's elements as plain numbers, the parts as the last axis."""
    if len({part.scalar for part in held.parts}) > 1:
        raise HarnessError(f"{path} holds records of {held.name}: only a buffer of the same dtype can take them")
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
    import inspect  # noqa: PLC0415 - 4 ms, in each worker

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
    """Explain why a file does not fit a buffer, from its size or header; None if it fits."""
    path, member = split_member(_path(buffer))
    count = math.prod(buffer.shape)
    try:
        if path.suffix == ".bin":
            size = path.stat().st_size
            if size != count * element.size:
                return f"{path} has {size} bytes and {count} elements of {element.name} need {count * element.size}"
            return None
        if path.suffix not in (".npy", ".npz"):
            header = dump_header(str(path))
            return _text_problem(buffer, element, path) if header is None else _dump_problem(buffer, element, header)
        dtype, size = _held(path, member, path.stat().st_mtime_ns)
        is_whole = dtype == element.storage or dtype.kind in "cV"  # a value is an element, not a part
        needed = count if is_whole else count * len(element.parts)
        if size != needed and not (size == count and element.storage.kind == "c"):
            return f"{path} holds {size} values and {list(buffer.shape)} of {element.name} needs {needed}"
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {error}"
    except GpuregressError as error:
        return str(error)
    return None


def _text_problem(buffer: Buffer, element: ElementType, path: Path) -> str | None:
    held, needed = text_files.count(path), math.prod(buffer.shape) * len(element.parts)
    if held == needed:
        return None
    return (
        f"{path} has no dump's header and holds {held} words of text; "
        f"{list(buffer.shape)} of {element.name} needs {needed} numbers"
    )


def _dump_problem(buffer: Buffer, element: ElementType, header: Header) -> str | None:
    held, count = header.element_type, math.prod(buffer.shape)
    if header.count * len(held.parts) == count * len(element.parts):
        return None
    shape = ",".join(map(str, header.shape))
    return f"{_path(buffer)} holds {held.name} [{shape}]; expected {list(buffer.shape)} of {buffer.dtype}"


def array_dtype(text: str) -> str:
    """The dtype of a `.npy` or an array of a `.npz`, as numpy names it; "" for other files and for records.

    Raises:
        HarnessError: the file cannot be read.
    """
    path, member = split_member(text)
    if path.suffix not in (".npy", ".npz"):
        return ""
    try:
        dtype, _ = _held(path, member, path.stat().st_mtime_ns)
    except (OSError, ValueError) as error:
        raise HarnessError(f"{path} cannot be read: {error}") from None
    return dtype.name if dtype.kind in "biufc" and dtype != np.longdouble else ""


@lru_cache(maxsize=64)
def _held(path: Path, member: str, _changed_ns: int) -> tuple[np.dtype[Any], int]:
    """The dtype and the number of values of an array file; cached until it changes."""
    array = _npy(path) if path.suffix == ".npy" else _npz(path, member)
    return array.dtype, array.size


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
        raise ValueError(f"it is not a complete .npy file ({type(error).__name__})") from error


def _path(buffer: Buffer) -> str:
    assert buffer.fill is not None
    assert isinstance(buffer.fill.options, InputFile), "only such a fill has a path"
    return buffer.fill.options.path


def _npz(path: Path, member: str) -> Array:
    """One array of an archive; the only one where no name is given.

    Raises:
        ValueError: the file is no archive of arrays, or has no such array.
        OSError: it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except zipfile.BadZipFile as error:
        raise ValueError(f"it is not a complete .npz file ({error})") from None
    if not member and len(names) != 1:
        raise ValueError(f"it holds {len(names)} arrays: name one, such as {path.name}:{names[0] if names else 'x'}")
    if member and member not in names:
        raise ValueError(f"it has no array {member!r}{suggestion(member, names)}")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return np.asarray(arrays[member or names[0]])
    except (OSError, ValueError):
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise ValueError(f"it is not a complete .npz file ({type(error).__name__})") from error


def _from_bytes(element: ElementType, path: Path) -> Array:
    """The elements of a file of raw bytes.

    Raises:
        ValueError: the last element is cut short.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    if len(data) % element.size:
        raise ValueError(f"it has {len(data)} bytes, and each {element.name} has {element.size}")
    return np.frombuffer(data, element.storage)


def _import(text: str) -> Callable[..., Any]:
    try:
        return usermodules.load(text)
    except usermodules.UserModuleError as error:
        raise UserCodeError(str(error)) from error
