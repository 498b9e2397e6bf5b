"""Element types: numpy's scalars, bfloat16, CUDA's vectors, and records; their memory layout.

An `ElementType` is the one description of a buffer's element that every room shares. Its `name` is what a job and a
dump's header write: `float32`, `bfloat16`, `float4`, `{id:int32,score:float32}`. Its `parts` are the scalars that one
line of a dump holds. Its `storage` is the numpy dtype of the device's bytes, with C's alignment and padding; bfloat16,
which numpy does not know, is stored as uint16.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    import numpy.typing as npt

Kind = Literal["bool", "int", "uint", "float", "bfloat"]

CANONICAL_NAN = {"float16": 0x7FFF, "bfloat16": 0x7FFF, "float32": 0x7FFFFFFF, "float64": 0xFFF8000000000000}
"""The bits of the NaN that a GPU's arithmetic gives, which is also the NaN that `nan` stands for in a dump."""


class Scalar(Record):
    """A scalar type: how memory holds one number.

    Attributes:
        name: numpy's name, or `bfloat16`.
        kind: how its bits are read.
        size: bytes; also its alignment.
    """

    name: str
    kind: Kind
    size: int

    @property
    def storage(self) -> np.dtype[np.generic]:
        """The little-endian numpy dtype of the bytes (uint16 for bfloat16)."""
        return np.dtype("<u2") if self.kind == "bfloat" else np.dtype(self.name).newbyteorder("<")

    @property
    def is_float(self) -> bool:
        """Whether NaN, infinities and rounding exist in this type."""
        return self.kind in ("float", "bfloat")

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and largest number of an integer type, or of bool."""
        if self.kind == "bool":
            return 0, 1
        bits = 8 * self.size
        return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if self.kind == "int" else (0, 2**bits - 1)

    @property
    def digits(self) -> int:
        """Significant bits of a float: whole numbers are exact up to 2 to this power."""
        return _FORMATS[self.name][0]

    @property
    def exponent_mask(self) -> int:
        """The bits of infinity: larger magnitudes are NaN."""
        digits, exponent_bits = _FORMATS[self.name]
        return ((1 << exponent_bits) - 1) << (digits - 1)

    @property
    def _largest_exponent(self) -> int:
        return (1 << (_FORMATS[self.name][1] - 1)) - 1

    @property
    def largest(self) -> float:
        """The largest finite number."""
        if not self.is_float:
            return self.bounds[1]
        return (2.0 - 2.0 ** (1 - self.digits)) * 2.0**self._largest_exponent

    @property
    def overflow(self) -> float:
        """The smallest number that is rounded to infinity, half a step over the largest; infinity for float64."""
        overflow = (2.0 - 2.0**-self.digits) * 2.0**self._largest_exponent
        # bfloat16 is made by way of float32, which is rounded half a step of its own before.
        return overflow - 2.0**103 if self.kind == "bfloat" else overflow

    @property
    def smallest(self) -> float:
        """The smallest float above 0, a subnormal one."""
        return 2.0 ** (2 - self._largest_exponent - self.digits)

    def holds(self, other: Scalar) -> bool:
        """Tell whether the bits of another scalar mean the same here: one type, or whole numbers of one size."""
        return self.name == other.name or (self.size == other.size and not (self.is_float or other.is_float))


class Part(Record):
    """A scalar inside an element: one word of a dump's line.

    Attributes:
        name: the field's name (`x`, `score`, `pos.y`, `real`), "" for a plain scalar.
        scalar: its type.
        offset: bytes from the element's start.
    """

    name: str
    scalar: Scalar
    offset: int


class ElementType(Record):
    """The type of a buffer's elements.

    Attributes:
        name: canonical text, as in a dump's header.
        parts: the scalars of one element, in the order they are written.
        size: bytes from one element to the next.
        alignment: bytes.
    """

    name: str
    parts: tuple[Part, ...]
    size: int
    alignment: int

    @property
    def storage(self) -> np.dtype[np.generic]:
        """The numpy dtype of an array of these: plain for scalars and complex, structured for vectors and records."""
        if self.name in _COMPLEX:
            return np.dtype(self.name).newbyteorder("<")
        if len(self.parts) == 1 and not self.parts[0].name:
            return self.parts[0].scalar.storage
        return np.dtype(
            {
                "names": [part.name for part in self.parts],
                "formats": [part.scalar.storage for part in self.parts],
                "offsets": [part.offset for part in self.parts],
                "itemsize": self.size,
            },
        )

    @property
    def only_scalar(self) -> Scalar | None:
        """The type of all parts; None where they have several."""
        scalars = {part.scalar for part in self.parts}
        return scalars.pop() if len(scalars) == 1 else None

    @property
    def is_float(self) -> bool:
        """Whether any part is a floating-point number."""
        return any(part.scalar.is_float for part in self.parts)

    def columns(self, array: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.generic], ...]:
        """Each part as an array of the same shape, in its own storage dtype (bfloat16 still as uint16 bits).

        Args:
            array: any shape, dtype `storage`.
        """
        if self.name in _COMPLEX:
            return (array.real, array.imag)
        if array.dtype.names is None:
            return (array,)
        structured = cast("npt.NDArray[np.void]", array)
        return tuple(structured[part.name] for part in self.parts)

    def part_columns(self, array: npt.NDArray[Any]) -> Iterator[tuple[Part, npt.NDArray[Any]]]:
        """Each part with its column; see `columns`."""
        return zip(self.parts, self.columns(array), strict=True)

    def column_pairs(
        self, expected: npt.NDArray[Any], actual: npt.NDArray[Any]
    ) -> Iterator[tuple[Part, npt.NDArray[Any], npt.NDArray[Any]]]:
        """Each part with its columns of the two sides of a comparison; see `columns`."""
        return zip(self.parts, self.columns(expected), self.columns(actual), strict=True)


def widened(element: ElementType) -> ElementType:
    """The type with every float as a float64; a type without narrower floats is itself."""
    if element.name.startswith("{"):
        fields = (item.split(":") for item in element.name[1:-1].split(","))
        return from_fields({name: _WIDER.get(inner, inner) for name, inner in fields})
    return _simple(_WIDER.get(element.name, element.name))


def to_float(column: npt.NDArray[np.generic], scalar: Scalar) -> npt.NDArray[np.generic]:
    """Convert bfloat16 bits to float32, exactly; other columns are returned as they are."""
    if scalar.kind != "bfloat":
        return column

    return (column.astype("<u4") << np.uint32(16)).view("<f4")


def from_float32(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Round float32 to bfloat16 bits, ties to even; a NaN keeps its sign and high payload, made quiet."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(values), quiet, rounded).astype("<u2")


_FORMATS = {"float16": (11, 5), "bfloat16": (8, 8), "float32": (24, 8), "float64": (53, 11)}
"""Float → its significant bits, and the bits of its exponent."""
_SCALARS: dict[str, Scalar] = {
    "bool": Scalar("bool", "bool", 1),
    **{f"int{bits}": Scalar(f"int{bits}", "int", bits // 8) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": Scalar(f"uint{bits}", "uint", bits // 8) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": Scalar(f"float{bits}", "float", bits // 8) for bits in (16, 32, 64)},
    "bfloat16": Scalar("bfloat16", "bfloat", 2),
}
_COMPLEX = {"complex64": "float32", "complex128": "float64"}
_VECTOR_BASES = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "longlong": "int64",
    "ulonglong": "uint64",
    "float": "float32",
    "double": "float64",
}
_WIDER = {
    **dict.fromkeys(("float16", "bfloat16", "float32"), "float64"),
    **dict.fromkeys(("half2", "bfloat162"), "double2"),
    **{f"float{lanes}": f"double{lanes}" for lanes in (1, 2, 3, 4)},
    "complex64": "complex128",
}
_LANES = ("x", "y", "z", "w")
_MAX_SHOWN = 60
_RECORD = re.compile(r"\{(.+)\}", re.DOTALL)
FIELD_NAME = "[A-Za-z_][A-Za-z0-9_]{0,63}"
"""The pattern of a record's field names."""
_FIELD = re.compile(r"\s*([^:]*?)\s*:\s*(\w*)\s*", re.ASCII)


def known_names() -> tuple[str, ...]:
    """All names that `parse` accepts besides records, for messages and the schema."""
    vectors = [f"{base}{lanes}" for base in _VECTOR_BASES for lanes in (1, 2, 3, 4)]
    return (*_SCALARS, *_COMPLEX, *vectors, "half2", "bfloat162")


@lru_cache(maxsize=256)
def parse(text: str) -> ElementType:
    """Parse the name of an element type.

    Args:
        text: a name from `known_names`, or a record `{id:int32,score:float32}`.

    Raises:
        ValueError: the name is not known; the message says which.
    """
    record = _RECORD.fullmatch(text.strip())
    if record is None:
        return _simple(text)
    fields: dict[str, str] = {}
    for item in record.group(1).split(","):
        field = _FIELD.fullmatch(item)
        if field is None:
            raise ValueError(f"invalid field {item.strip()!r}: write name: dtype")
        if field.group(1) in fields:
            raise ValueError(f"duplicate field {field.group(1)!r}")
        fields[field.group(1)] = field.group(2)
    return from_fields(fields)


def from_fields(fields: Mapping[str, str]) -> ElementType:
    """A record type from its fields, laid out as C lays out a struct.

    Args:
        fields: field name → the name of a scalar, complex or vector type.

    Raises:
        ValueError: no field, a name that is no C identifier, or a type that is not known or is itself a record.
    """
    if not fields:
        raise ValueError("a record needs a field")
    wrong = next((name for name in fields if not re.fullmatch(FIELD_NAME, name)), None)
    if wrong is not None:
        shown = repr(wrong if len(wrong) <= _MAX_SHOWN else f"{wrong[:_MAX_SHOWN]}…")
        raise ValueError(f"invalid field name {shown}: a letter or _, then letters, digits and _, at most 64")
    parts: list[Part] = []
    offset, alignment = 0, 1
    for name, type_name in fields.items():
        inner = _simple(type_name)
        offset = _align(offset, inner.alignment)
        parts += [Part(f"{name}.{p.name}" if p.name else name, p.scalar, offset + p.offset) for p in inner.parts]
        offset += inner.size
        alignment = max(alignment, inner.alignment)
    text = ",".join(f"{name}:{type_name}" for name, type_name in fields.items())
    return ElementType(f"{{{text}}}", tuple(parts), _align(offset, alignment), alignment)


def canonical_nans(column: npt.NDArray[np.generic], scalar: Scalar) -> npt.NDArray[np.generic]:
    """Replace every NaN of a column by the NaN of a GPU's arithmetic; other hosts' NaNs have other bits.

    Args:
        column: in the scalar's storage dtype; not changed.
        scalar: its type.
    """
    if not scalar.is_float:
        return column

    with np.errstate(invalid="ignore"):  # a signalling NaN is looked at
        nans = np.isnan(to_float(column, scalar))
    if not nans.any():
        return column
    bits = np.array(column).view(f"<u{scalar.size}")
    bits[nans] = CANONICAL_NAN[scalar.name]
    return bits.view(column.dtype)


def _simple(name: str) -> ElementType:
    if name in _SCALARS:
        scalar = _SCALARS[name]
        return ElementType(name, (Part("", scalar, 0),), scalar.size, scalar.size)
    if name in _COMPLEX:
        scalar = _SCALARS[_COMPLEX[name]]
        parts = (Part("real", scalar, 0), Part("imag", scalar, scalar.size))
        return ElementType(name, parts, 2 * scalar.size, 2 * scalar.size)
    if name in ("half2", "bfloat162"):
        return _vector(name, _SCALARS["float16" if name == "half2" else "bfloat16"], 2)
    if name[-1:] in ("1", "2", "3", "4") and name[:-1] in _VECTOR_BASES:
        return _vector(name, _SCALARS[_VECTOR_BASES[name[:-1]]], int(name[-1]))
    raise ValueError(f"invalid dtype {name!r}")


def _vector(name: str, scalar: Scalar, lanes: int) -> ElementType:
    parts = tuple(Part(_LANES[k], scalar, k * scalar.size) for k in range(lanes))
    # vector_types.h: 2 and 4 lanes are aligned to their size, at most 16; 1 and 3 to one lane.
    alignment = min(16, scalar.size * lanes) if lanes in (2, 4) else scalar.size
    return ElementType(name, parts, scalar.size * lanes, alignment)


def _align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def key_parts(element_type: ElementType, key: tuple[str, ...]) -> tuple[int, ...]:
    """The positions of a rule's key columns among the parts; `pos` stands for `pos.x`, `pos.y` and so on.

    Raises:
        ValueError: an unknown column; the message has the known ones.
    """
    positions: list[int] = []
    for name in key:
        columns = [
            position
            for position, part in enumerate(element_type.parts)
            if part.name == name or part.name.startswith(f"{name}.")
        ]
        if not columns:
            names = ", ".join(part.name for part in element_type.parts if part.name) or "none"
            raise ValueError(f"{element_type.name} has no column {name!r}; it has {names}")
        positions += columns
    return tuple(positions)
