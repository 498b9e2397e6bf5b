"""Images that programs load, PTX or fatbins with PTX, as programs of the virtual GPU."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Collection, Iterator
from pathlib import Path

from gpuregress.foundation.errors import CompileError
from gpuregress.gpu import architectures
from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.programs import Dim3, Program
from gpuregress.gpu.records import replace
from gpuregress.toolchain import fatbins, ptx_declarations

_ELF, _LINKED = b"\x7fELF", b"GLNK"
_PART, _LINKED_HEAD = struct.Struct("<Q"), 16
_MODULE = re.compile(r"^\s*\.version\b", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\s*\.(?:target|address_size)\b.*$", re.MULTILINE)
_FILE = re.compile(r"^\s*\.file\s+(\d+)", re.MULTILINE)
_NUMBER = re.compile(r"^(\s*\.(?:file|loc)\s+)(\d+)", re.MULTILINE)
_STRING_OR_NAME = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<![\w$%.])[A-Za-z_$%][\w$]*(?![\w$.])')
"""A name that is no part of a directive or an opcode (`.global`, `add.s32`); strings are found so that they stay."""
_WEAK = re.compile(r"^[ \t]*\.(?:weak|common)\b", re.MULTILINE)
_FUNCTION = re.compile(r"\s*\.(?:weak|common)\s+\.(?:func|entry)\b")
_MARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[{};]', re.DOTALL)
_CALL_BY_ADDRESS = re.compile(r"\.call(?:prototype|targets)\b")
REMEDY = (
    "build with PTX: nvcc -gencode arch=compute_90,code=compute_90, NVRTC --gpu-architecture=compute_90 and nvrtcGetPTX"
)


class NoPtx(CompileError):
    """An image holds machine code alone."""


class NoImage(CompileError):
    """Bytes that no GPU could load."""


def ptx_of(image: bytes) -> str:
    """Return the PTX of an image; that for the newest architecture that the virtual GPU runs.

    Raises:
        NoPtx: there is none.
        NoImage: it is none.
        CompileError: the image is damaged.
    """
    if image[:4] == _ELF:
        raise NoPtx(f"a cubin holds only machine code of a GPU, which the virtual GPU cannot run: {REMEDY}")
    if image[:4] == _LINKED:
        return _linked(_modules_of_parts(image))
    if image[:4] != fatbins.MAGIC:
        text = image.rstrip(b"\0").decode("utf-8", "replace")
        modules = _MODULE.split(text)
        if len(modules) < 2:
            raise NoImage("the image is neither PTX nor a fatbin")
        return text if len(modules) == 2 else _linked(modules[1:])
    most = architectures.number(SM_90.name)
    try:
        found = [item for item in fatbins.images(image) if item.is_ptx and item.architecture <= most]
        if not found:
            raise NoPtx(f"the fatbin has no PTX for {SM_90.name} or an older architecture: {REMEDY}")
        newest = max(found, key=lambda item: item.architecture)
        return newest.contents().rstrip(b"\0").decode("utf-8", "replace")
    except ValueError as error:
        raise CompileError(f"the fatbin cannot be read: {error}") from error


def _parts(image: bytes) -> Iterator[bytes]:
    """Split what the driver's linker has made."""
    place = _LINKED_HEAD
    while place < len(image):
        (size,) = _PART.unpack_from(image, place)
        place += _PART.size
        yield image[place : place + size]
        place += size


def _modules_of_parts(image: bytes) -> list[str]:
    """The modules of what is linked. What has no PTX is left out: the library of the device runtime is always there.

    Raises:
        NoPtx: nothing has PTX.
    """
    modules: list[str] = []
    lack: NoPtx | None = None
    for part in _parts(image):
        try:
            modules += _MODULE.split(ptx_of(part))[1:]
        except NoPtx as error:
            lack = error
    if lack is not None and not modules:
        raise lack
    return modules


def _linked(modules: list[str]) -> str:
    """Put modules of PTX together as one: the directives of the first one stay, each has files of its own."""
    modules = _with_weak_definitions_once(_with_names_apart(modules))
    texts = [f".version{modules[0]}"]
    files = _most_file(modules[0])
    for module in modules[1:]:
        body = _DIRECTIVE.sub("", module.partition("\n")[2])
        texts.append(_numbered_from(body, files))
        files += _most_file(module)
    return "\n".join(texts)


def _with_names_apart(modules: list[str]) -> list[str]:
    """Rename what only one module sees where another module has the name, too: `$str`, of the strings of printf."""
    linkages = [ptx_declarations.linkages(module) for module in modules]
    taken = {name for linked in linkages for name, linkage in linked.items() if linkage}
    renamed: list[str] = []
    for number, (module, linked) in enumerate(zip(modules, linkages, strict=True)):
        clashing = {name for name, linkage in linked.items() if not linkage and name in taken}
        taken |= linked.keys()
        renamed.append(_renamed(module, clashing, f"$module{number}"))
    return renamed


def _with_weak_definitions_once(modules: list[str]) -> list[str]:
    """Leave out all weak definitions of a name but the first, and the first one beside a visible one."""
    defined = {
        name
        for module in modules
        for name, linkage in ptx_declarations.linkages(module).items()
        if linkage == ".visible"
    }
    texts: list[str] = []
    for module in modules:
        kept: list[str] = []
        end = 0
        for match in _WEAK.finditer(module):
            start, kept_end = match.start(), end
            end = _end_of_item(module, start)
            item = module[start:end]
            names = ptx_declarations.linkages(item).keys()
            kept.append(module[kept_end:start])
            if _is_declaration(item) or not names <= defined:
                kept.append(item)
            if not _is_declaration(item):
                defined |= names
        texts.append("".join([*kept, module[end:]]))
    return texts


def _end_of_item(module: str, start: int) -> int:
    """Where the function or the variables that are declared from a place on end."""
    depth, is_variable = 0, _FUNCTION.match(module, start) is None
    for match in _MARK.finditer(module, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and (match[0] == ";" or (match[0] == "}" and not is_variable)):
            return match.end()
    return len(module)


def _is_declaration(item: str) -> bool:
    """Whether a function is declared only, without a body."""
    return _FUNCTION.match(item) is not None and "{" not in item


def _renamed(module: str, names: Collection[str], suffix: str) -> str:
    """Return a module with a suffix behind some names."""
    if not names:
        return module

    def with_suffix(match: re.Match[str]) -> str:
        return match[0] + suffix if match[0] in names else match[0]

    return _STRING_OR_NAME.sub(with_suffix, module)


def _most_file(module: str) -> int:
    """The greatest number of a file of a module."""
    return max((int(number) for number in _FILE.findall(module)), default=0)


def _numbered_from(module: str, first: int) -> str:
    """Return a module with other numbers of its files."""

    def renumbered(match: re.Match[str]) -> str:
        return f"{match[1]}{int(match[2]) + first}"

    return _NUMBER.sub(renumbered, module)


def program_of(ptx: str, path: Path) -> Program:
    """Describe a PTX text, which is written to a file, as a compiler would."""
    path.write_text(ptx, encoding="utf-8")
    declared = ptx_declarations.parse(ptx)
    return Program(
        key=hashlib.sha256(ptx.encode()).hexdigest(),
        ptx=str(path),
        cubin="",
        entries=declared.entries,
        symbols={name: name for name in declared.variables},
        compiler="of the program",
        options=(),
        arch=SM_90.name,
    )


def calls_by_address(ptx: str) -> bool:
    """Whether functions of a module may be called by their addresses, which all of its kernels must agree on."""
    return _CALL_BY_ADDRESS.search(ptx) is not None


def in_clusters(program: Program, kernel: str, cluster: Dim3, path: Path) -> Program:
    """Return a program one kernel of which is launched in clusters of a size that only the launch tells."""
    text = Path(program.ptx).read_text(encoding="utf-8")
    entry = re.compile(rf"(\.entry\s+{re.escape(kernel)}\s*(?:\([^)]*\))?)(\s)")
    size = ", ".join(map(str, cluster))
    edited = entry.sub(rf"\1\n.explicitcluster\n.reqnctapercluster {size}\2", text, count=1)
    return replace(program_of(edited, path), symbols=program.symbols)
