"""Layouts of types, asked of the compiler: sizes, and the offsets and sizes of a structure's members.

The question is a table of constants behind the source, which the compiled code then holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuregress import dtypes
from gpuregress.frozen import dataclass
from gpuregress.records import HARNESS_FILE
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.functions import harness
from gpuregress.toolchain.functions.harness import Kind

_TABLE = "gpuregress_layouts"
_COLUMNS = 4
_MOST_FIELDS = 256
_ELEMENT = """
namespace gpuregress_layout {
template <typename T> struct element { typedef T type; };
template <typename T, unsigned long long N> struct element<T[N]> : element<T> {};
template <typename T> struct plain {
    typedef typename gpuregress_harness::bare<typename element<T>::type>::type type;
};
}
"""


@dataclass(frozen=True, slots=True)
class DataMember:
    """A data member as the source declares it: `pos.x` of a structure within, and the text of its type."""

    path: str
    type: str


@dataclass(frozen=True, slots=True)
class MemberLayout:
    """A data member as it is compiled.

    Attributes:
        path: its name, `pos.x` in a structure within.
        type: as the source declares it, of an element.
        kind: of an element.
        offset: bytes.
        size: bytes of an element.
        count: elements; 1 for what is no array.
    """

    path: str
    type: str
    kind: Kind
    offset: int
    size: int
    count: int

    @property
    def dtype(self) -> str | None:
        """The dtype of an element; None where there is none, as for a pointer."""
        spelled = dtype_of_type(self.type)
        if spelled is not None and dtypes.parse(spelled).size == self.size:
            return spelled
        return scalar_dtype(self.kind, self.size)


@dataclass(frozen=True, slots=True)
class TypeLayout:
    """A type as it is compiled.

    Attributes:
        kind: what it is.
        size: bytes.
        fields: of a structure, where all of its members are known.
    """

    kind: Kind
    size: int
    fields: tuple[MemberLayout, ...] = ()

    @property
    def dtype(self) -> str | None:
        """The dtype of a buffer of this type; None where none has its layout."""
        if self.kind != "class":
            return scalar_dtype(self.kind, self.size)
        if any(one.kind == "pointer" for one in self.fields):
            return None
        record = self._record()
        return record.name if record is not None else None

    @property
    def is_listed(self) -> bool:
        """Whether its members, one after the other, are laid out as it is."""
        return self._record() is not None

    def _record(self) -> dtypes.ElementType | None:
        """Lay out the members as C does; None where that is not this layout. A pointer is a number of its size."""
        parts: dict[str, str] = {}
        for one in self.fields:
            dtype = "uint64" if one.kind == "pointer" else one.dtype
            if dtype is None or len(parts) + one.count > _MOST_FIELDS:
                return None
            name = one.path.replace(".", "_")
            parts |= {name if one.count == 1 else f"{name}_{at}": dtype for at in range(one.count)}
        try:
            record = dtypes.from_fields(parts)
        except ValueError:
            return None
        offsets = {one.offset + at * one.size for one in self.fields for at in range(one.count)}
        return record if record.size == self.size and offsets <= {one.offset for one in record.parts} else None

    @property
    def pointers(self) -> tuple[str, ...]:
        """The members that are pointers."""
        return tuple(one.path for one in self.fields if one.kind == "pointer")


def scalar_dtype(kind: Kind, size: int) -> str | None:
    """Return the dtype of a number of the compiler; None for what is none.

    Args:
        kind: what it is.
        size: bytes.
    """
    if kind == "bool":
        return "bool"
    return {
        "int": f"int{8 * size}",
        "enum": f"int{8 * size}",
        "uint": f"uint{8 * size}",
        "float": f"float{8 * size}",
    }.get(kind)


def question(types: Mapping[str, Sequence[DataMember]]) -> str:
    """Write the text behind a source that makes the compiler tell the layouts of types.

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


def answer(ptx: str, types: Mapping[str, Sequence[DataMember]]) -> dict[str, TypeLayout]:
    """Read the layouts of types from the compiled source.

    Args:
        ptx: of the source with the question behind it.
        types: those of the question.
    """
    numbers = iter(harness.table(ptx, _TABLE, _COLUMNS))
    found: dict[str, TypeLayout] = {}
    for (name, members), (kind, size, *_) in zip(types.items(), numbers, strict=False):
        fields = []
        for member, (inner, width, offset, count) in zip(members, numbers, strict=False):
            fields.append(MemberLayout(member.path, member.type, harness.KINDS[inner], offset, width, count))
        found[name] = TypeLayout(harness.KINDS[kind], size, tuple(fields))
    return found
