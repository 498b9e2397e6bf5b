"""Types of kernels' parameters and of variables, read from the debug information of PTX.

The compiler writes DWARF 2 for a program with `--device-debug`: sections of bytes, which hold every type as it was
compiled, with templates instantiated, base classes, bit-fields and padding.
https://dwarfstd.org/doc/dwarf-2.0.0.pdf, chapter 7, has the encoding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import MemberLayout, TypeKind, TypeLayout
from gpuregress.gpu.records import MutableRecord
from gpuregress.toolchain.cxx_types import dtype_of_type

OPTION = "--device-debug"
OPTIONS = (OPTION, "--undefine-macro=__CUDACC_DEBUG__")
"""Debug information of the program as it is compiled without."""

_SECTION = re.compile(r"\.section\s+(\.debug_(?:info|abbrev|str))\s*\{(.*?)\n\s*\}", re.DOTALL)
_DATA = re.compile(r"\.b(8|16|32|64)\s+([^\n]+)")
_MOST_FIELDS = 1024
_DEEPEST = 16

# Tags, attributes, forms and encodings: DWARF 2, section 7.5 and 7.8.
_ARRAY, _ENUMERATION, _PARAMETER, _MEMBER, _POINTER = 0x01, 0x04, 0x05, 0x0D, 0x0F
_REFERENCE, _STRUCTURE, _TYPEDEF, _UNION, _INHERITANCE = 0x10, 0x13, 0x16, 0x17, 0x1C
_CLASS, _SUBRANGE, _BASE, _CONST, _SUBPROGRAM, _VARIABLE = 0x02, 0x21, 0x24, 0x26, 0x2E, 0x34
_VOLATILE, _RESTRICT, _RVALUE_REFERENCE = 0x35, 0x37, 0x42
_SAME_TYPE = frozenset((_TYPEDEF, _CONST, _VOLATILE, _RESTRICT))
_NAME, _SIZE, _BIT_SIZE, _UPPER, _COUNT, _LOCATION = 0x03, 0x0B, 0x0D, 0x2F, 0x37, 0x38
_DECLARATION, _ENCODING, _EXTERNAL, _TYPE, _VIRTUALITY, _LINKAGE = 0x3C, 0x3E, 0x3F, 0x49, 0x4C, 0x2007
_FIXED_FORMS = {0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x10: 8, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8}
_BLOCK_FORMS = {0x0A: 1, 0x03: 2, 0x04: 4}
_KINDS: dict[int, TypeKind] = {2: "bool", 4: "float", 5: "int", 6: "int", 7: "uint", 8: "uint", 16: "uint"}
_OP_PLUS_CONSTANT = 0x23


class _Entry(MutableRecord):
    """A debugging information entry with those inside of it."""

    tag: int
    values: dict[int, int | bytes] = field(default_factory=dict)
    inside: list[_Entry] = field(default_factory=list)

    def number(self, attribute: int) -> int:
        value = self.values.get(attribute, 0)
        return value if isinstance(value, int) else 0

    def text(self, attribute: int) -> str:
        value = self.values.get(attribute, b"")
        return value.decode(errors="replace") if isinstance(value, bytes) else ""


def are_asked(options: Sequence[str]) -> bool:
    """Tell whether a source with these options is compiled for its types."""
    return tuple(options[-len(OPTIONS) :]) == OPTIONS


def types(ptx: str) -> dict[str, tuple[TypeLayout, ...]]:
    """Return the types of a program: of each kernel its parameters', of each variable its own.

    Args:
        ptx: compiled with `OPTION`.

    Returns:
        Mangled name → types; {} where the program has no debug information, or one in another form.
    """
    sections = {name: _bytes(text) for name, text in _SECTION.findall(ptx)}
    if ".debug_info" not in sections or ".debug_abbrev" not in sections:
        return {}
    found: dict[str, tuple[TypeLayout, ...]] = {}
    try:
        reader = _Reader(sections[".debug_info"], sections[".debug_abbrev"], sections.get(".debug_str", b""))
        layouts = _Types(reader.by_offset)
        for entry in reader.entries:
            found.update(layouts.of(entry))
    except (IndexError, KeyError, RecursionError):
        return {}
    return found


def _bytes(text: str) -> bytes:
    """The bytes of a section; an address in it, which is a name in PTX, is zeros."""
    data = bytearray()
    for bits, numbers in _DATA.findall(text):
        size = int(bits) // 8
        for number in numbers.split(","):
            value = 0
            if re.fullmatch(r"\s*-?(?:0x[\da-fA-F]+|\d+)\s*;?\s*", number):
                value = int(number, 0)
            data += (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    return bytes(data)


class _Reader:
    """Decoder of the entries of all compilation units."""

    def __init__(self, info: bytes, abbreviations: bytes, strings: bytes) -> None:
        self._info, self._strings, self._at = info, strings, 0
        self._forms = self._read_abbreviations(abbreviations)
        self.entries: list[_Entry] = []
        self.by_offset: dict[int, _Entry] = {}
        while self._at < len(info):
            self._unit()

    def _read_abbreviations(self, data: bytes) -> dict[int, tuple[int, bool, list[tuple[int, int]]]]:
        """Abbreviation code → tag, whether entries follow inside, and the attributes with their forms."""
        info, self._info = self._info, data
        abbreviations: dict[int, tuple[int, bool, list[tuple[int, int]]]] = {}
        while self._at < len(data):
            code = self._unsigned()
            if code == 0:
                break
            tag = self._unsigned()
            has_children = self._fixed(1) != 0
            pairs: list[tuple[int, int]] = []
            while True:
                pair = (self._unsigned(), self._unsigned())
                if pair == (0, 0):
                    break
                pairs.append(pair)
            abbreviations[code] = (tag, has_children, pairs)
        self._info, self._at = info, 0
        return abbreviations

    def _unit(self) -> None:
        start = self._at
        end = start + 4 + self._fixed(4)
        self._at = start + 11  # length, version, offset of the abbreviations, size of an address
        around: list[_Entry] = []
        while self._at < end:
            at = self._at
            code = self._unsigned()
            if not code:
                if around:
                    around.pop()
                continue
            tag, has_children, pairs = self._forms[code]
            entry = _Entry(tag)
            for attribute, form in pairs:
                entry.values[attribute] = self._value(form, start)
            self.by_offset[at] = entry
            if around:
                around[-1].inside.append(entry)
            else:
                self.entries.append(entry)
            if has_children:
                around.append(entry)
        self._at = end

    def _value(self, form: int, unit: int) -> int | bytes:
        if form in _FIXED_FORMS:
            number = self._fixed(_FIXED_FORMS[form])
            return number + unit if 0x11 <= form <= 0x14 else number  # references within the unit
        if form == 0x08:
            end = self._info.index(0, self._at)
            text = self._info[self._at : end]
            self._at = end + 1
            return text
        if form == 0x0E:
            at = self._fixed(4)
            return self._strings[at : self._strings.index(0, at)]
        if form == 0x0D:
            return self._signed()
        if form == 0x0F:
            return self._unsigned()
        if form == 0x15:
            return self._unsigned() + unit
        if form in _BLOCK_FORMS:
            return self._block(self._fixed(_BLOCK_FORMS[form]))
        if form == 0x09:
            return self._block(self._unsigned())
        raise KeyError(form)

    def _block(self, size: int) -> bytes:
        self._at += size
        return self._info[self._at - size : self._at]

    def _fixed(self, size: int) -> int:
        self._at += size
        if self._at > len(self._info):
            raise IndexError
        return int.from_bytes(self._info[self._at - size : self._at], "little")

    def _unsigned(self) -> int:
        """LEB128."""
        value = shift = 0
        while True:
            byte = self._fixed(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _signed(self) -> int:
        start = self._at
        value = self._unsigned()
        bits = 7 * (self._at - start)
        return value - (1 << bits) if value >> (bits - 1) else value


class _Types:
    """Layouts of the types that entries refer to."""

    def __init__(self, by_offset: dict[int, _Entry]) -> None:
        self._by_offset = by_offset

    def of(self, entry: _Entry) -> Iterator[tuple[str, tuple[TypeLayout, ...]]]:
        """Yield the functions and variables in an entry: the mangled name, and the types."""
        name = entry.text(_LINKAGE) or entry.text(_NAME)
        if entry.tag == _SUBPROGRAM and name:
            yield name, tuple(self.layout(inner, deep=True) for inner in entry.inside if inner.tag == _PARAMETER)
        elif entry.tag == _VARIABLE and name:
            yield name, (self.layout(entry, deep=True),)
        elif entry.tag != _SUBPROGRAM:
            for inner in entry.inside:
                yield from self.of(inner)

    def layout(self, entry: _Entry, *, deep: bool = False) -> TypeLayout:
        """The type of a parameter, a variable or a pointer; `deep`: with what its pointers point to."""
        type_ = self._type(entry)
        if type_ is None:
            return TypeLayout("void", 0, name="void")
        element, counts = self._element(type_)
        kind, size, name = self._plain(element)
        pointee = self.layout(element) if deep and kind == "pointer" else None
        fields: tuple[MemberLayout, ...] = ()
        if kind == "class":
            fields = _bounded(tuple(self._fields(element, "", 0, 0, deep=deep)), size)
        return TypeLayout(kind, size, fields, name, pointee=pointee, count=math.prod(counts))

    def _type(self, entry: _Entry) -> _Entry | None:
        """The type that an entry refers to, without qualifiers and aliases."""
        while _TYPE in entry.values:
            entry = self._by_offset[entry.number(_TYPE)]
            if entry.tag not in _SAME_TYPE:
                is_void = entry.tag == _BASE and entry.text(_NAME) == "void"
                return None if is_void else entry
        return None

    def _element(self, entry: _Entry) -> tuple[_Entry, list[int]]:
        """The element of an array, and the extents; of another type the type and no extents."""
        counts: list[int] = []
        while entry.tag == _ARRAY:
            axes = [axis for axis in entry.inside if axis.tag == _SUBRANGE]
            counts += [axis.number(_UPPER) + 1 if _UPPER in axis.values else axis.number(_COUNT) for axis in axes]
            element = self._type(entry)
            if element is None:
                break
            entry = element
        return entry, counts

    def _plain(self, entry: _Entry) -> tuple[TypeKind, int, str]:
        """The kind, the size and the name of what is no array."""
        name, size = entry.text(_NAME), entry.number(_SIZE)
        if entry.tag == _BASE:
            kind = _KINDS.get(entry.number(_ENCODING), "opaque")
            return (kind if size in (1, 2, 4, 8) else "opaque"), size, name
        if entry.tag in (_POINTER, _REFERENCE, _RVALUE_REFERENCE):
            target = self._type(entry)
            target_name = "void" if target is None else target.text(_NAME)
            return "pointer", 8, f"{target_name}*" if entry.tag == _POINTER else f"{target_name}&"
        if entry.tag == _ENUMERATION:
            return "enum", size, name
        if entry.tag in (_STRUCTURE, _CLASS):
            return "class", 0 if entry.number(_DECLARATION) else size, name
        return "opaque", size, "union" if entry.tag == _UNION else name

    def _fields(self, entry: _Entry, prefix: str, start: int, depth: int, *, deep: bool) -> Iterator[MemberLayout]:
        """The data members of a structure, those of base classes first."""
        name = entry.text(_NAME)
        known = dtypes.parse(dtype_of_type(name) or "bool")
        if known.is_float and len(known.parts) == 1 and known.size == entry.number(_SIZE):  # __half, __nv_bfloat16
            yield MemberLayout(prefix.rstrip("."), name, "float", start, known.size)
            return
        for inner in entry.inside:
            type_ = self._type(inner) if inner.tag in (_MEMBER, _INHERITANCE) else None
            if type_ is None or inner.number(_EXTERNAL):  # a static member has no place
                continue
            place = self._place(inner)
            path = f"{prefix}{inner.text(_NAME)}"
            if place is None or inner.number(_VIRTUALITY) or depth > _DEEPEST:
                yield MemberLayout(path, name, "opaque", start, entry.number(_SIZE))
                return
            if inner.tag == _INHERITANCE:
                path = prefix
            if _BIT_SIZE in inner.values:
                size = inner.number(_SIZE) or self._plain(type_)[1]
                yield MemberLayout(path, "bit-field", "opaque", start + place, size)
            else:
                yield from self._member(type_, path, start + place, depth, deep=deep)

    def _member(self, type_: _Entry, path: str, offset: int, depth: int, *, deep: bool) -> Iterator[MemberLayout]:
        element, counts = self._element(type_)
        kind, size, name = self._plain(element)
        count = math.prod(counts)
        if kind == "class":
            dot = "." if path and not path.endswith(".") else ""
            for number in range(min(count, _MOST_FIELDS)):
                index = f"[{number}]" if counts else ""
                yield from self._fields(element, f"{path}{index}{dot}", offset + number * size, depth + 1, deep=deep)
        elif count:
            pointee = self.layout(element) if deep and kind == "pointer" else None
            yield MemberLayout(path, name, kind, offset, size, count=count, pointee=pointee)

    @staticmethod
    def _place(entry: _Entry) -> int | None:
        """The offset of a member in bytes; None where it is no constant."""
        value = entry.values.get(_LOCATION, 0)
        if isinstance(value, int):
            return value
        if value[:1] != bytes([_OP_PLUS_CONSTANT]):
            return None
        number = shift = 0
        for byte in value[1:]:
            number |= (byte & 0x7F) << shift
            shift += 7
        return number


def _bounded(fields: tuple[MemberLayout, ...], size: int) -> tuple[MemberLayout, ...]:
    """The first members of a structure with very many; the others are one opaque rest."""
    if len(fields) <= _MOST_FIELDS:
        return fields
    rest = fields[_MOST_FIELDS].offset
    return (*fields[:_MOST_FIELDS], MemberLayout("…", "", "opaque", rest, size - rest))
