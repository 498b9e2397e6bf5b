"""Reader of cubin files: kernels, parameters, variables, architecture.

A cubin is a 64-bit little-endian ELF file. A kernel `k` has a section `.text.k`, and in `.nv.info.k` one KPARAM_INFO
attribute (format 4, attribute 0x17; NVIDIA's cuobjdump -elf prints them so) a parameter: ordinal, offset, size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gpuregress.foundation.records import Entry, Parameter
from gpuregress.gpu.records import Record

_MACHINE_CUDA = 190
_SYMBOL_TABLE = 2
_NOTHING_IN_THE_FILE = 8  # SHT_NOBITS
_KPARAM_INFO = 0x17
_KPARAM_INFO_V2 = 0x45
_OBJECT, _FUNCTION = 1, 2
_NEWER_FLAGS = 8  # e_ident's ABI version
_CODE = (".text.", ".nv.constant", ".nv.global")
_CUDA_ENTRY = 0x10  # in a symbol's st_other: a kernel, not a device function


class CubinModule(Record):
    """A cubin's contents by name.

    Attributes:
        entries: mangled name → entry; a parameter's kind is `word` (8 bytes) or `struct`: machine code tells no more.
        variables: variables that can be looked up.
        arch: `sm_90`, "" where the file does not say; whether it is `sm_90a` is not known.
    """

    entries: dict[str, Entry]
    variables: tuple[str, ...]
    arch: str = ""


class _Symbol(Record):
    name: str
    kind: int
    other: int
    section: str


def parse(data: bytes) -> CubinModule:
    """Read a cubin.

    Args:
        data: the whole file.

    Raises:
        ValueError: it is not a cubin, or is cut short.
    """
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        raise ValueError("it is not a 64-bit ELF file")
    try:
        return _parse(data)
    except (struct.error, IndexError, ValueError) as error:
        raise ValueError("it is cut short") from error


def code_sections(data: bytes) -> list[tuple[str, bytes]]:
    """Each section that decides what a program does, by name: its code, its constants and its variables.

    Raises:
        ValueError: it is not a cubin, or is cut short.
    """
    parse(data)
    named = ((name, kind, start, size) for name, kind, start, size in _sections(data) if name.startswith(_CODE))
    return sorted(
        (name, b"" if kind == _NOTHING_IN_THE_FILE else data[at : at + size]) for name, kind, at, size in named
    )


def _parse(data: bytes) -> CubinModule:
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine != _MACHINE_CUDA:
        raise ValueError("it is an ELF file, but not of NVIDIA's machine code")
    sections = list(_sections(data))
    segments_at, segment_size, segments = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    ends = [segments_at + segment_size * segments]
    ends += [start + size for _, kind, start, size in sections if kind != _NOTHING_IN_THE_FILE]
    if max(ends) > len(data):
        raise ValueError("it is cut short")
    info = {name.removeprefix(".nv.info."): (start, size) for name, _, start, size in sections if ".nv.info." in name}
    symbols = list(_symbols(data, sections))
    entries = {
        symbol.name: Entry(symbol.name, _parameters(data, *info[symbol.name]))
        for symbol in symbols
        if symbol.kind == _FUNCTION and symbol.other & _CUDA_ENTRY and symbol.name in info
    }
    variables = [
        symbol.name
        for symbol in symbols
        if symbol.kind == _OBJECT
        and symbol.section.startswith((".nv.global", ".nv.constant3"))
        and not symbol.name.startswith(("$", "__unnamed_", "."))
    ]
    return CubinModule(entries, tuple(variables), _architecture(data))


def _architecture(data: bytes) -> str:
    """Decode the header's e_flags: the low byte, since ABI version 8 the one above (LLVM's ELF.h, EF_CUDA_SM)."""
    (flags,) = struct.unpack_from("<I", data, 48)
    number = (flags >> 8 if data[8] >= _NEWER_FLAGS else flags) & 0xFF
    return f"sm_{number}" if number else ""


def _sections(data: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Each section's name, type, offset and size."""
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, count, names_at = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + entry_size * k) for k in range(count)]
    strings = headers[names_at][4]
    for header in headers:
        yield _string(data, strings + header[0]), header[1], header[4], header[5]


def _parameters(data: bytes, start: int, size: int) -> tuple[Parameter, ...]:
    layout: dict[int, tuple[int, int]] = {}
    at, end = start, start + size
    while at + 4 <= end:
        form, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == 4:
            if attribute in (_KPARAM_INFO, _KPARAM_INFO_V2):
                _, ordinal, offset, packed = struct.unpack_from("<IHHI", data, at)
                layout[ordinal] = (offset, packed >> 18 if attribute == _KPARAM_INFO else packed >> 16)
            at += value
    return tuple(_parameter(*layout[ordinal]) for ordinal in sorted(layout))


def _parameter(offset: int, size: int) -> Parameter:
    # Alignment is not recorded: the largest power of two that divides both offset and size, at most 16.
    alignment = 16
    while alignment > 1 and (offset % alignment or size % alignment):
        alignment //= 2
    return Parameter(size, alignment, "word" if size == 8 else "struct")


def _symbols(data: bytes, sections: list[tuple[str, int, int, int]]) -> Iterator[_Symbol]:
    strings = next((start for name, _, start, _ in sections if name == ".strtab"), 0)
    for _, kind, start, size in sections:
        if kind != _SYMBOL_TABLE:
            continue
        for at in range(start, start + size, 24):
            name, info, other, section, _, _ = struct.unpack_from("<IBBHQQ", data, at)
            section_name = sections[section][0] if section < len(sections) else ""
            yield _Symbol(_string(data, strings + name), info & 15, other, section_name)


def _string(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="replace")
