"""Objects of host code: memory, pointers, structures, and the launches that are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import field
from tree_sitter import Node

from gpuregress.gpu.records import Record
from gpuregress.lab.host_programs.contents import NOTHING_STORED, ArrayContents
from gpuregress.lab.host_programs.scalars import HostScalar, binary, constant, named

_OTHER_SIZE = 4
_SIZES = {"double": 8, "long": 8, "int64_t": 8, "half": 2, "at::Half": 2, "bool": 1, "uint8_t": 1, "int8_t": 1}


@dataclass(eq=False, slots=True)
class HostArray:
    """An array of the program.

    Attributes:
        name: of the variable that first pointed to it.
        bytes: its size; None where the host code does not say it.
        where: its place in the source.
        element: the type of its elements, where the program says it.
        contents: what the host code puts into it.
        extents: of an array for textures, slowest first; or of a tensor, in the order of its axes.
        kind: `layered`, `cube` or `cube-layered` of one for textures, "" of another.
        may_have_more_axes: whether the extents are those that the program asks for, of a tensor of any rank.
        has_channels_last: whether the second axis of the tensor is the innermost one.
    """

    name: str
    bytes: HostScalar | None
    where: str
    element: str = ""
    contents: ArrayContents = NOTHING_STORED
    extents: tuple[HostScalar, ...] = ()
    kind: str = ""
    may_have_more_axes: bool = False
    has_channels_last: bool = False

    @property
    def shape(self) -> tuple[HostScalar, ...]:
        """The extents in the order of memory, slowest first."""
        if self.has_channels_last:
            return (self.extents[0], *self.extents[2:], self.extents[1])
        return self.extents

    @property
    def size(self) -> HostScalar | None:
        """Its bytes; of a tensor those of its extents, with elements of four bytes where their type is not known."""
        if self.bytes is not None or not self.extents:
            return self.bytes
        total = constant(_SIZES.get(self.element, _OTHER_SIZE))
        for extent in self.extents:
            total = binary("*", total, extent)
        return total

    def element_value(self, where: str) -> HostScalar | None:
        """Return the value of an element; a guess where its elements may differ.

        Args:
            where: the place in the source that reads it.
        """
        stored = self.contents.stored
        if stored is None or self.contents.is_certain or not stored.is_known:
            return stored
        return named(f"{self.name}_element", stored.number, where, is_known=False)

    def is_whole(self, size: object) -> bool:
        """Tell whether a size in bytes is not less than that of the array, as far as is known."""
        return self.bytes is None or (isinstance(size, HostScalar) and size.number >= self.bytes.number)


@dataclass(eq=False, slots=True)
class HostCell:
    """A variable, a member of a structure, or a value without a name.

    `doubts` is the number of branches around its declaration that may not be taken.
    """

    name: str
    type: str = ""
    value: Object | None = None
    doubts: int = 0


class ElementCell(HostCell):
    """An element of an array, which is not distinguished from the others.

    Args:
        memory: the array.
        index: of the element; None where it is not known.
        where: the place in the source.
    """

    __slots__ = ("_index", "_memory")

    def __init__(self, memory: HostArray, index: HostScalar | None, where: str) -> None:
        self._memory = memory
        self._index = index
        super().__init__("", "", memory.element_value(where))

    def store(self, value: Object | None, *, is_chosen: bool) -> None:
        """Note what is stored into the element.

        Args:
            value: that is stored.
            is_chosen: whether a condition on a loop's variable decides about it.
        """
        self._memory.contents = self._memory.contents.with_element(self._index, value, is_chosen=is_chosen)


class ArrayPointer(Record):
    """A pointer into an array; `offset` in elements."""

    memory: HostArray
    type: str = ""
    offset: HostScalar = field(default_factory=lambda: constant(0))


class Reference(Record):
    """The address of a variable."""

    cell: HostCell


class Structure(Record):
    """A structure with its members, as a `dim3`; `is_given`: others have filled it, so its members have values."""

    members: dict[str, HostCell]
    type: str = ""
    is_given: bool = False

    def copy(self, doubts: int) -> Structure:
        """Return a structure with members of its own.

        Args:
            doubts: as those of the variable that gets it.
        """
        cells: dict[str, HostCell] = {}
        for name, cell in self.members.items():
            value = cell.value
            if isinstance(value, Structure):
                value = value.copy(doubts)
            cells[name] = HostCell(name, cell.type, value, doubts)
        return Structure(cells, self.type, self.is_given)


class Listed(Record):
    """A list in braces."""

    items: tuple[Object | None, ...]


class NamedFunction(Record):
    """The name of a kernel or function, with its template arguments."""

    name: str


class HostTexture(Record):
    """A texture or surface object: its memory, `array` or `linear`, and its settings as a job writes them."""

    memory: HostArray | None
    layout: str
    settings: Mapping[str, str]


Object = HostScalar | ArrayPointer | Reference | Structure | Listed | NamedFunction | HostTexture


def member_of(value: Object | None, path: str) -> Object | None:
    """Return a member of a structure; None where it is not known.

    Args:
        value: the structure.
        path: of the member, as `grid.width` or `dims[0]`.
    """
    for name in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, Reference):
            value = value.cell.value
        if not isinstance(value, Structure) or name not in value.members:
            return None
        value = value.members[name].value
    return value


def is_named(value: Object | None, path: str) -> bool:
    """Tell whether the program names a member of a structure, or a member around it: it may have an unknown value.

    Args:
        value: the structure.
        path: of the member, as `grid.width` or `dims[0]`.
    """
    for name in path.replace("[", ".").replace("]", "").split("."):
        if not isinstance(value, Structure):
            return True
        if name not in value.members:
            return value.is_given
        value = value.members[name].value
    return True


def value_at(values: Sequence[Object | None], position: int) -> Object | None:
    """Return an argument; None where the call does not have so many."""
    if position >= len(values):
        return None
    return values[position]


def cell_at(values: Sequence[Object | None], position: int) -> HostCell | None:
    """Return the variable whose address is an argument."""
    value = value_at(values, position)
    if isinstance(value, Reference):
        return value.cell
    return None


def number_at(values: Sequence[Object | None], position: int) -> HostScalar | None:
    """Return an argument that is a number."""
    value = value_at(values, position)
    if isinstance(value, HostScalar):
        return value
    return None


def dim3(values: tuple[HostScalar, ...]) -> Structure:
    """Make a `dim3`; what is not given is 1."""
    padded = (*values, constant(1), constant(1), constant(1))
    sizes = zip("xyz", padded, strict=False)
    return Structure({axis: HostCell(axis, "unsigned", size) for axis, size in sizes}, "dim3")


def extents(items: Sequence[Object | None], where: str) -> tuple[HostScalar, ...]:
    """Return the sizes of a `dim3`; one that is not known has a guess.

    Args:
        items: its arguments.
        where: their place in the source.
    """
    sizes = []
    for axis, item in zip("xyz", items, strict=False):
        size = item if isinstance(item, HostScalar) else named(f"size_{axis}", 1, where, is_known=False)
        sizes.append(size)
    return tuple(sizes)


def axes(value: Object | None) -> tuple[HostScalar, HostScalar, HostScalar] | None:
    """Return the sizes along x, y, z of a `dim3` or a number; None where they are not known."""
    if isinstance(value, HostScalar):
        return value, constant(1), constant(1)
    if isinstance(value, Listed):
        return axes(dim3(extents(value.items, "")))
    if not isinstance(value, Structure):
        return None
    x, y, z = (member_of(value, axis) for axis in "xyz")
    if isinstance(x, HostScalar) and isinstance(y, HostScalar) and isinstance(z, HostScalar):
        return x, y, z
    return None


class SeenLaunch(Record):
    """A launch that the host code makes.

    Attributes:
        kernel: its name without template arguments.
        template: the arguments that the launch gives, types and numbers as text.
        grid: blocks along x, y, z; None where they are not known.
        block: threads along x, y, z; likewise.
        shared: bytes of dynamic shared memory.
        arguments: None for one whose value is not known.
        types: of the arguments, "" where they are not known.
        texts: of the arguments, as they are spelled.
        where: its place in the source.
        branches_not_taken: how many branches are around it that the program does not take without arguments.
        conditions: places of the conditions around it that are not known.
        loops: places of the loops around it, whose first turn it is.
        untaken: numbers of the branches around it that the program does not take.
        function: the host function that makes it.
        call: number of the call of that function.
    """

    kernel: str
    template: tuple[str, ...]
    grid: tuple[HostScalar, HostScalar, HostScalar] | None
    block: tuple[HostScalar, HostScalar, HostScalar] | None
    shared: HostScalar
    arguments: tuple[Object | None, ...]
    types: tuple[str, ...]
    texts: tuple[str, ...]
    where: str
    branches_not_taken: int
    conditions: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    untaken: tuple[int, ...] = ()
    function: str = ""
    call: int = 0

    def may_follow(self, other: SeenLaunch) -> bool:
        """Tell whether a run that makes this launch may have made another one before."""
        return set(other.untaken) <= set(self.untaken)


class Run(Protocol):
    """The interpreter, as far as calls need it."""

    symbols: dict[str, HostArray]
    has_channels_last: bool

    def evaluate(self, node: Node) -> Object | None:
        """Compute the value of an expression."""

    def assign(self, cell: HostCell, value: Object | None, node: Node | None = None) -> None:
        """Give a variable a value."""

    def unknown(self, name: str, type_: str = "int", node: Node | None = None) -> HostScalar:
        """Make an unknown number with a guess."""

    def size(self, type_: str, node: Node | None = None) -> HostScalar:
        """Return the size of a type in bytes; one that is not known has a guess."""

    def place(self, node: Node | None) -> str:
        """Return a node's place in the source, as `app.cu:12`."""

    def resolved(self, text: str) -> str:
        """Replace the names of template parameters, aliases and macros in a type's text."""

    def record(
        self,
        name: str,
        grid: Object | None,
        block: Object | None,
        shared: Object | None,
        given: Sequence[Node],
        node: Node,
    ) -> None:
        """Note a launch."""

    def record_values(
        self,
        name: str,
        configuration: tuple[Object | None, Object | None, Object | None],
        arguments: tuple[Object | None, ...],
        types: tuple[str, ...],
        texts: tuple[str, ...],
        node: Node,
    ) -> None:
        """Note a launch whose arguments are evaluated."""
