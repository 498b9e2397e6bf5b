"""Layouts of types, asked of the compiler: sizes, and the offsets and sizes of a structure's members.

The question is a table of constants after the source, which the compiled code then holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import HARNESS_FILE, MemberLayout, TypeKind, TypeLayout
from gpuregress.gpu.records import Record
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.functions import harness

_TABLE = "gpuregress_layouts"
_COLUMNS = 4
_MOST_FIELDS = 256
_ELEMENT = """
namespace gpuregress_layout {
template <typename T> struct element { typedef T type; };
template <typename T, unsigned long long N> struct element<T[N]> : element<T> {};
template <unsigned long long N> struct constant { char bytes[N + 1]; };
template <typename T> struct plain {
    typedef typename gpuregress_harness::bare<typename element<T>::type>::type type;
};
}
"""


class DataMember(Record):
    """A data member as the source declares it: `pos.x` of a structure within, and the text of its type."""

    path: str
    type: str


def member_dtype(member: MemberLayout) -> str | None:
    """Return the dtype of an element of a member; None where there is none, as for a pointer."""
    spelled = dtype_of_type(member.type)
    if spelled is not None and dtypes.parse(spelled).size == member.size:
        return spelled
    return scalar_dtype(member.kind, member.size)


def dtype(layout: TypeLayout, *, pads: bool = False) -> str | None:
    """Return the dtype of a buffer of a type; None where none has its layout.

    Args:
        layout: of the type.
        pads: whether all members are known, so that bytes may be put where C would put the next member too early.
    """
    if layout.kind != "class":
        return scalar_dtype(layout.kind, layout.size)
    if layout.pointers:
        return None
    record = _record(layout, pads=pads)
    return record.name if record is not None else None


def is_listed(layout: TypeLayout) -> bool:
    """Tell whether the members of a type, one after the other, are laid out as it is."""
    return _record(layout) is not None


def _record(layout: TypeLayout, *, pads: bool = False) -> dtypes.ElementType | None:
    """Lay out the members as C does; None where that is not this layout. A pointer is a number of its size.

    Args:
        layout: of a structure.
        pads: whether bytes are put where a member would begin too early, and after the last one.
    """
    parts = members(layout, pads=pads)
    if not parts or len(parts) > _MOST_FIELDS or None in parts.values():
        return None
    try:
        record = dtypes.from_fields({name: dtype or "" for name, dtype in parts.items()})
    except ValueError:
        return None
    offsets = {one.offset + at * one.size for one in layout.fields for at in range(one.count)}
    return record if record.size == layout.size and offsets <= {one.offset for one in record.parts} else None


def members(layout: TypeLayout, *, pads: bool) -> dict[str, str | None]:
    """List the members of a structure, each element of an array apart: name → dtype, None where there is none.

    A pointer is `uint64`.

    Args:
        layout: of a structure.
        pads: whether bytes are put where a member would begin too early, and after the last one; then what has no
            dtype, as a union, is a number of its size, or bytes.
    """
    parts: dict[str, str | None] = {}
    end = 0
    largest = 1
    for field in layout.fields:
        if pads and field.offset < end:
            continue  # bit-fields of one number
        inner = "uint64" if field.kind == "pointer" else member_dtype(field)
        count = field.count
        if inner is None and pads:
            if field.size in (1, 2, 4, 8) and field.offset % field.size == 0:
                inner = f"uint{8 * field.size}"
            else:
                inner = "uint8"
                count *= field.size
        alignment = dtypes.parse(inner).alignment if inner is not None else 1
        if count:
            largest = max(largest, alignment)
        if pads and -(-end // alignment) * alignment < field.offset:
            parts |= _padding(end, field.offset)
        name = re.sub(r"\W+", "_", field.path).strip("_") or "value"
        for number in range(count):
            parts[name if count == 1 else f"{name}_{number}"] = inner
        end = field.offset + field.count * field.size
    if pads and -(-end // largest) * largest < layout.size:
        parts |= _padding(end, layout.size)
    return parts


def _padding(start: int, end: int) -> dict[str, str | None]:
    return {f"pad_{at}": "uint8" for at in range(start, end)}


def scalar_dtype(kind: TypeKind, size: int) -> str | None:
    """Return the dtype of a number of the compiler; None for what is none.

    Args:
        kind: what it is.
        size: bytes.
    """
    if kind == "bool":
        return "bool"
    if kind == "enum":
        return f"int{8 * size}"
    return f"{kind}{8 * size}" if kind in ("int", "uint", "float") else None


def question(types: Mapping[str, Sequence[DataMember]]) -> str:
    """Write the text after a source that makes the compiler tell the layouts of types.

    Args:
        types: spelled type → its data members; none where only its size is asked for.
    """
    rows = []
    for name, members in types.items():
        rows.append(_row(f"gpuregress_layout::plain<{name}>::type", name, "0", str(len(members))))
        for one in members:
            member = f"decltype((({name}*)0)->{one.path})"
            rows.append(
                _row(f"gpuregress_layout::plain<{member}>::type", member, f"__builtin_offsetof({name}, {one.path})")
            )
    table = "\n".join(rows)
    return (
        f'\n#line 1 "{HARNESS_FILE}"\n{harness.TYPES.strip()}\n{_ELEMENT.strip()}\n'
        f'extern "C" __device__ unsigned int {_TABLE}[] = {{\n{table}\n}};\n'
    )


def _row(element: str, whole: str, offset: str, count: str = "") -> str:
    kind = f"gpuregress_harness::kind<{element}>"
    return f"    {kind}::code, {kind}::size, {offset}, {count or f'sizeof({whole}) / sizeof({element})'},"


def constant(name: str) -> str:
    """Spell a type whose size is the value of a constant of the source, and one byte.

    Args:
        name: of the constant, not negative: `Traits<128>::kThreads`.
    """
    return f"gpuregress_layout::constant<(unsigned long long)({name})>"


def answer(ptx: str, types: Mapping[str, Sequence[DataMember]]) -> dict[str, TypeLayout]:
    """Read the layouts of types from the compiled source.

    Args:
        ptx: of the source with the question after it.
        types: those of the question.
    """
    rows = iter(harness.table(ptx, _TABLE, _COLUMNS))
    layouts: dict[str, TypeLayout] = {}
    for (name, members), (kind, size, *_) in zip(types.items(), rows, strict=False):
        fields = []
        for member, (code, width, offset, count) in zip(members, rows, strict=False):
            fields.append(
                MemberLayout(
                    path=member.path,
                    type=member.type,
                    kind=harness.KINDS[code],
                    offset=offset,
                    size=width,
                    count=count,
                )
            )
        layouts[name] = TypeLayout(harness.KINDS[kind], size, tuple(fields))
    return layouts
