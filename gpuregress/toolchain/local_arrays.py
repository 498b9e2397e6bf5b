"""Local arrays as variables of their own, for a device that checks accesses.

NVVM lays the local arrays of a function out as one variable, `__local_depot0`, in which the end of an array and the
start of the next one are the same number: PTX alone does not tell which array an address was made of. So the source is
compiled once more, with a gap on either side of each array, whose place the PTX tells. Where both make and use the same
addresses of local memory, but for the offsets, these tell the array, and the lines of the normal PTX can be edited:
each array becomes a variable. Where they do not, nothing is changed. PTX with gaps is never executed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from gpuregress.foundation.records import LineEdit
from gpuregress.gpu.records import Record
from gpuregress.toolchain.host_code import grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_GAP = 64
"""Bytes: more than the compiler aligns arrays to, so that no two arrays are moved by the same distance."""
_MOST_ALIGNED = 16
"""Bytes that the compiler aligns an array to, where the source does not ask for more."""
_ROUNDS = 3
"""Statements that an address is followed through: the sum with an index, the access, what becomes of the value."""
_MARK, _FLAG = "gpuregress_array", "gpuregress_flag"
_NOT_LOCAL = re.compile(r"\b(?:static|extern|constexpr|typedef|thread_local|__\w+__)\b")

_FUNCTION = re.compile(r"(?:\.(?:visible|weak)\s+)?\.(?:entry|func)\b")
_DEPOT = re.compile(r"\.local \.align (\d+) \.b8 (__local_depot\d+)\[(\d+)\];")
_SUM = re.compile(r"add\.[su]64 (%rd\d+), (%SPL?), (-?\d+);")
_PLACE = re.compile(r"(?<=%SP)(L?(?:, |\+))(-?\d+)")
_REGISTER = re.compile(r"%[a-z]+\d+\b")
_NUMBER = re.compile(r"(?<=%[a-z])\d+\b|(?<=%[a-z]{2})\d+\b|(?<=\$L_)\w+")
_MADE = re.compile(r"(?:@!?%p\d+ )?(?:add|sub|mov|selp|cvta|mad|or)\.[\w.]+ (%rd\d+),")
_ARRAY = re.compile(rf"// {_MARK} (\w+) (%rd\d+) (%rd\d+) (\d+)")
_NO_STATEMENT = re.compile(r"mov\.\w+ %SPL, |cvta\.local\.\w+ %SP, |//|\.(?:loc|file|reg)\b|\$L_\w+:|[{}]?$")


def with_gaps(text: str) -> str:
    """Return a C++ text with gaps around its local arrays; all lines stay. Without such arrays it is the same."""
    root = grammar.root(re.sub(r"[^\x00-\x7f]", "?", text))
    pieces: list[str] = []
    position = 0
    for node in grammar.everywhere(root, "declaration"):
        declarators = node.children_by_field_name("declarator")
        is_statement = node.parent is not None and node.parent.type == "compound_statement"
        if not is_statement or node.has_error or node.start_byte < position or not any(map(_name, declarators)):
            continue
        specifiers = text[node.start_byte : declarators[0].start_byte]
        if _NOT_LOCAL.search(specifiers) or "{" in specifiers:
            continue
        pieces += [text[position : node.start_byte], *_separated(text, declarators, specifiers)]
        position = declarators[-1].end_byte
    if not position:
        return text
    flags = re.findall(rf"{_FLAG}_\d+", "".join(pieces))
    return "".join((f"__device__ volatile unsigned {', '.join(flags)};\n#line 1\n", *pieces, text[position:]))


def _separated(text: str, declarators: Sequence[Node], specifiers: str) -> Iterator[str]:
    """Yield a declaration for each declarator, those of arrays between gaps; the last semicolon is left out."""
    for number, declarator in enumerate(declarators):
        if number:
            yield text[declarators[number - 1].end_byte : declarator.start_byte].replace(",", ";", 1)
        name = _name(declarator)
        first, last = (f"gpuregress_gap_{declarator.start_byte}_{side}" for side in (1, 2))
        gap = f"struct {{ char bytes[{_GAP}]; }}"  # a plain array of characters would be aligned to 16 bytes
        if name:
            yield f"{gap} {first}; "
        yield specifiers if not number else " ".join(specifiers.split()) + " "
        yield text[declarator.start_byte : declarator.end_byte]
        if name:
            # In a block of its own: where the first block of a function used them, the gaps would be laid out apart,
            # and among the other statements it would keep accesses from being joined.
            operands = f'"l"(&{first}), "l"(&{last}), "n"(sizeof({name}))'
            condition = f"{_FLAG}_{declarator.start_byte}"
            yield f'; {gap} {last}; if ({condition}) asm volatile("// {_MARK} {name} %0 %1 %2" :: {operands})'


def _name(declarator: Node) -> str:
    """The name of the array that a declarator declares; "" where it declares none."""
    node: Node | None = declarator
    if declarator.type == "init_declarator":
        node = declarator.child_by_field_name("declarator")
    if node is None or node.type != "array_declarator":
        return ""
    while node is not None and node.type == "array_declarator":
        node = node.child_by_field_name("declarator")
    if node is None or node.type != "identifier":
        return ""
    return (node.text or b"").decode("ascii")


class _Line(Record):
    """A line of PTX: its number, from 1, as it is, and with single spaces."""

    number: int
    whole: str
    text: str


class _Statement(Record):
    """A statement without the numbers of its registers, those that hold addresses, and the offset that it names."""

    shape: str
    registers: tuple[str, ...]
    offset: int | None


class _Array(Record):
    """A local array: its first byte in the depot with gaps, and its bytes."""

    name: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """The byte after it."""
        return self.start + self.size


def has_several_offsets(ptx: str) -> bool:
    """Tell whether a function of a module uses its local memory at more than one offset."""
    return any(len({match[3] for _, match in _matches(_SUM, function)}) > 1 for function in _functions(ptx))


def _matches(pattern: re.Pattern[str], lines: Iterable[_Line]) -> Iterator[tuple[_Line, re.Match[str]]]:
    """Yield the lines that a pattern matches as a whole."""
    for line in lines:
        match = pattern.fullmatch(line.text)
        if match is not None:
            yield line, match


def edits(ptx: str, padded: str) -> tuple[LineEdit, ...]:
    """Return the lines of a PTX module that change so that local arrays are variables of their own.

    Args:
        ptx: the module.
        padded: PTX of the same source with gaps.
    """
    functions = list(_functions(ptx))
    padded_functions = list(_functions(padded))
    if len(functions) != len(padded_functions):
        return ()
    changed: list[LineEdit] = []
    for function, padded_function in zip(functions, padded_functions, strict=True):
        changed += _edits(function, padded_function)
    return tuple(changed)


def _functions(ptx: str) -> Iterator[list[_Line]]:
    """Yield the lines of each function that has a body."""
    function: list[_Line] = []
    for number, whole in enumerate(ptx.splitlines(), 1):
        line = _Line(number, whole, " ".join(whole.split()))
        if _FUNCTION.match(line.text):
            function = []
        function.append(line)
        if line.text == "}" and _FUNCTION.match(function[0].text):
            yield function
            function = []


def _edits(function: list[_Line], padded: list[_Line]) -> list[LineEdit]:
    """The edits of one function; none where local memory is used otherwise in the padded one."""
    if not _is_plain(function):
        return []
    depots = list(_matches(_DEPOT, function))
    gaps, arrays = _layout(padded)
    places = _places(function, padded, arrays)
    if len(depots) != 1 or not arrays or places is None:
        return []
    ((depot_line, depot),) = depots
    moved_arrays = _moved_arrays(places, gaps, arrays, int(depot[3]))
    variables: dict[int, str] = {}
    changed: list[LineEdit] = []
    for line in function:
        for match in _PLACE.finditer(_explicit(line.text)):
            offset = int(match[2])
            moved = places[offset] - offset
            array = moved_arrays.get(moved)
            if array is None:
                continue
            address = _SUM.fullmatch(line.text)
            if address is None:
                return []
            first = array.start - moved
            name = f"{depot[2]}${first}${array.name}"
            variables[first] = f".local .align {_alignment(first, int(depot[1]))} .b8 {name}[{array.size}];"
            operation = "mov.u64" if address[2] == "%SPL" else "cvta.local.u64"
            changed.append(LineEdit(line.number, line.whole, f"{operation} {address[1]}, {name}+{offset - first};"))
    if not variables:
        return []
    declared = [variables[first] for first in sorted(variables)]
    return [LineEdit(depot_line.number, depot_line.whole, " ".join((depot_line.text, *declared))), *changed]


def _is_plain(function: list[_Line]) -> bool:
    """Whether each address in the depot is made by an offset that is named, and the function cannot recur.

    The stack of a recursive function would grow by its arrays, which the depot holds, too.
    """
    is_called = ".func" in function[0].text
    for line in function:
        if _NO_STATEMENT.match(line.text) or _DEPOT.fullmatch(line.text):
            continue
        names_base = "%SP" in line.text and _PLACE.search(_explicit(line.text)) is None
        if names_base or "__local_depot" in line.text:
            return False
        if is_called and "call" in line.text:
            return False
    return True


def _layout(padded: list[_Line]) -> tuple[list[int], list[_Array]]:
    """The offsets of the gaps, and the arrays between them; nothing where they are not where they should be."""
    sums = {match[1]: int(match[3]) for _, match in _matches(_SUM, padded)}
    gaps: set[int] = set()
    arrays: set[_Array] = set()
    for _, match in _matches(_ARRAY, padded):
        name, before, behind, size = match.groups()
        if before not in sums or behind not in sums:
            return [], []
        gaps |= {sums[before], sums[behind]}
        first = sums[before] + _GAP
        end = sums[behind]
        start = end - int(size)
        if end == first:  # the array is in registers, or elsewhere with another one
            continue
        if not first <= start < first + _MOST_ALIGNED or start - first >= (start & -start):
            return [], []
        arrays.add(_Array(name, start, int(size)))
    spans = [(gap, gap + _GAP) for gap in gaps] + [(array.start, array.end) for array in arrays]
    if _overlap(sorted(spans)):  # lifetimes were found to be disjoint
        return [], []
    return sorted(gaps), sorted(arrays, key=attrgetter("start"))


def _overlap(spans: Sequence[tuple[int, int]]) -> bool:
    """Tell whether two of some sorted spans share a byte."""
    return any(following[0] < before[1] for before, following in pairwise(spans))


def _places(function: list[_Line], padded: list[_Line], arrays: Sequence[_Array]) -> dict[int, int] | None:
    """The offsets of a function in its depot → those in the padded one; None where the functions differ otherwise.

    The compiler may order the statements of a block, and the arrays, in another way. So offsets are paired that are
    used alike; where several are, they must be of arrays of one size.

    Args:
        function: the function.
        padded: the one with gaps.
        arrays: those between gaps.
    """
    statements = _statements(function)
    padded_statements = _statements(padded)
    if Counter(one.shape for one in statements) != Counter(one.shape for one in padded_statements):
        return None
    padded_uses = _uses(padded_statements)
    places: dict[int, int] = {}
    for use, offsets in _uses(statements).items():
        alike = padded_uses.get(use, set())
        arrays_at = [_array_at(place, arrays) for place in alike]
        sizes = {0 if array is None else array.size for array in arrays_at}
        if len(offsets) != len(alike) or len(sizes) > 1:
            return None
        for offset, place in zip(sorted(offsets), sorted(alike), strict=True):
            if places.setdefault(offset, place) != place:  # the end of an array and the start of the next one
                return None
    return places if len(set(places.values())) == len(places) else None


def _array_at(place: int, arrays: Iterable[_Array]) -> _Array | None:
    """Return the array that an offset lies in; None where it lies in none."""
    for array in arrays:
        if array.start <= place < array.end:
            return array
    return None


def _uses(statements: list[_Statement]) -> dict[int, set[int]]:
    """Group the offsets in the depot by how they are used: which statements the values made of them go through.

    Color refinement of the graph of statements and registers (Weisfeiler and Leman).
    """
    colors: dict[str, int] = {}
    for _ in range(_ROUNDS):
        neighbours: dict[str, list[int]] = {}
        for statement in statements:
            own_colors = tuple(colors.get(register, 0) for register in statement.registers)
            for position, register in enumerate(statement.registers):
                if register:
                    neighbours.setdefault(register, []).append(hash((statement.shape, position, own_colors)))
        colors = {register: hash(tuple(sorted(hashes))) for register, hashes in neighbours.items()}
    uses: dict[int, set[int]] = {}
    for statement in statements:
        if statement.offset is not None:
            use = hash((statement.shape, *(colors.get(register, 0) for register in statement.registers)))
            uses.setdefault(use, set()).add(statement.offset)
    return uses


def _statements(function: list[_Line]) -> list[_Statement]:
    """The statements of a function that make or use addresses in its depot, but for those of its gaps.

    What else there is may differ: a value that is computed anew in each block, accesses that are joined.
    """
    of_gaps: set[str] = set()
    for _, match in _matches(_ARRAY, function):
        of_gaps.update(match.group(2, 3))
    texts = [_explicit(line.text) for line in function if not _NO_STATEMENT.match(line.text)]
    addresses = _addresses(texts)
    statements: list[_Statement] = []
    for text in texts:
        registers = _REGISTER.findall(text)
        place = _PLACE.search(text)
        is_of_depot = place is not None or not addresses.isdisjoint(registers)
        if is_of_depot and registers[0] not in of_gaps:
            shape = _NUMBER.sub("", _PLACE.sub(r"\1", text))
            of_addresses = tuple(register if register in addresses else "" for register in registers)
            statements.append(_Statement(shape, of_addresses, None if place is None else int(place[2])))
    return statements


def _addresses(texts: Sequence[str]) -> set[str]:
    """The registers that hold addresses in the depot: its offsets, and what is computed of them."""
    found: set[str] = set()
    size = -1
    while len(found) > size:
        size = len(found)
        for text in texts:
            match = _MADE.match(text)
            if match is not None and (_PLACE.search(text) or not found.isdisjoint(_REGISTER.findall(text))):
                found.add(match[1])
    return found


def _explicit(text: str) -> str:
    """A statement with the offset of each operand in the depot."""
    return text.replace("[%SP]", "[%SP+0]").replace("[%SPL]", "[%SPL+0]")


def _moved_arrays(
    places: Mapping[int, int], gaps: Sequence[int], arrays: Sequence[_Array], size: int
) -> dict[int, _Array]:
    """The bytes by which each array was moved; nothing where they do not tell it from what else is in the depot.

    Args:
        places: offsets in the depot → those in the padded one.
        gaps: the offsets of the gaps.
        arrays: those between gaps.
        size: of the depot.
    """
    moved_arrays: dict[int, _Array] = {}
    others: list[tuple[int, int]] = []
    for offset, place in places.items():
        array = _array_at(place, arrays)
        if array is None:
            others.append((offset, place))
        elif moved_arrays.setdefault(place - offset, array) != array:
            return {}
    if len(set(moved_arrays.values())) != len(moved_arrays):
        return {}
    spans = sorted((array.start - moved, array.end - moved) for moved, array in moved_arrays.items())
    if not spans or _overlap(spans) or spans[0][0] < 0 or spans[-1][1] > size:
        return {}
    for offset, place in others:
        array = moved_arrays.get(place - offset)
        if array is not None:
            if array.start - _GAP <= place < array.end + _GAP:  # outside by a constant
                continue
            return {}
        is_gap = any(gap <= place < gap + _GAP for gap in gaps)
        is_near = any(abs(place - offset - moved) < _MOST_ALIGNED for moved in moved_arrays)
        if is_gap or is_near or any(start <= offset < end for start, end in spans):
            return {}
    return moved_arrays


def _alignment(offset: int, most: int) -> int:
    """The alignment of an offset in a variable with an alignment."""
    return min(most, offset & -offset) if offset else most
