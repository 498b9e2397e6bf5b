"""Intermediate representation of memory footprints, in static single assignment form.

`analysis.footprint` builds it from PTX; `parallel.footprint_evaluation` evaluates it for the numbers of one launch.
Operands are indices into `Footprint.nodes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from gpuregress.gpu.records import Record

COMPARISONS = frozenset(["==", "!=", "<", "<=", ">", ">="])


class Operation(Record, tag=True, array_like=True):
    """A value computed from other values.

    Attributes:
        operator: one of
            `+ - *`: modulo 2^32 or 2^64;
            `widen`: 32 bits extended to 64, by the sign if signed;
            `<< & | ^`: on `bits` bits;
            `>> / % hi min max`: on signed or unsigned numbers of `bits` bits; `hi` is the high half of a product;
            `== != < <= > >=`: a predicate, from numbers of `bits` bits;
            `and or not`: a predicate, from predicates;
            `select`: the second operand where the first one, a predicate, holds; otherwise the third;
            `copy`: the operand; only while a graph is built.
        operands: indices of nodes.
        bits: of the operands; 0 where the operator does not depend on them.
        signed: whether the operands are signed.
    """

    operator: str
    operands: tuple[int, ...]
    bits: int = 0
    signed: bool = False

    @property
    def is_comparison(self) -> bool:
        """Whether it compares two numbers."""
        return self.operator in COMPARISONS


class _Leaf:
    """A value that no other node determines."""

    __slots__ = ()
    operands: tuple[int, ...] = ()


class Constant(_Leaf, Record, tag=True, array_like=True):
    """An integer."""

    value: int


class Coordinate(_Leaf, Record, tag=True, array_like=True):
    """A special register of the thread, block or grid: `tid.x`, `ntid.x`, `ctaid.x`, `nctaid.x`, ...."""

    register: str


class ParameterValue(_Leaf, Record, tag=True, array_like=True):
    """A number of `size` bytes at byte `offset` of the parameter space."""

    offset: int
    size: int


class VariableAddress(_Leaf, Record, tag=True, array_like=True):
    """The address `byte` bytes after the start of a module variable."""

    variable: str
    byte: int


class Phi(Record, tag=True, array_like=True):
    """The value of the predecessor block through which control entered a block.

    Attributes:
        block: where control flow joins.
        predecessors: blocks.
        operands: the value from each predecessor.
    """

    block: int
    predecessors: tuple[int, ...]
    operands: tuple[int, ...]


class Induction(Record, tag=True, array_like=True):
    """An induction variable: `initial + iteration * step`, iterations counted from 0.

    Attributes:
        block: header of the loop.
        signs: 1 or -1 for each term of the step.
        operands: the initial value, then the terms of the step.
    """

    block: int
    signs: tuple[int, ...]
    operands: tuple[int, ...]

    @property
    def initial(self) -> int:
        """The value in the first iteration."""
        return self.operands[0]

    @property
    def steps(self) -> Iterator[tuple[int, int]]:
        """(sign, node) of each term that an iteration adds."""
        return zip(self.signs, self.operands[1:], strict=True)


class Unknown(_Leaf, Record, tag=True, array_like=True):
    """Any value."""


Node: TypeAlias = Operation | Constant | Coordinate | ParameterValue | VariableAddress | Phi | Induction | Unknown


class Condition(Record, array_like=True):
    """A predicate that holds, or does not hold.

    Attributes:
        predicate: a node.
        holds: its value.
    """

    predicate: int
    holds: bool


Conditions: TypeAlias = tuple[Condition, ...]


class LoopConditions(Record, array_like=True):
    """Conditions on the iterations of a loop.

    Attributes:
        repeat: hold at the end of an iteration that another one follows.
        enter: hold before the first iteration.
    """

    repeat: Conditions
    enter: Conditions


class Write(Record, tag=True, array_like=True):
    """A store of `size` bytes, `offset` bytes after an address."""

    size: int
    address: int
    offset: int
    conditions: Conditions


class Read(Record, tag=True, array_like=True):
    """A load of `size` bytes, `offset` bytes after an address.

    Attributes:
        address: a node; None where it is not known.
        buffers: the variables, and first bytes of the parameters, that it may read through; None: any.
    """

    size: int
    address: int | None
    offset: int
    conditions: Conditions
    buffers: tuple[int | str, ...] | None


class TextureRead(Record, tag=True, array_like=True):
    """A read through the texture or surface whose handle is at byte `handle` of the parameter space."""

    handle: int


class SurfaceWrite(Record, tag=True, array_like=True):
    """A store of `size` bytes through a surface.

    Attributes:
        handle: byte of the parameter space where the surface's handle is.
        coordinates: nodes; the first one counts bytes.
        bounds: `trap`, `clamp` or `zero`: the effect of coordinates outside.
    """

    size: int
    handle: int
    coordinates: tuple[int, ...]
    bounds: str
    conditions: Conditions


Access: TypeAlias = Write | Read | TextureRead | SurfaceWrite


class Footprint(Record, array_like=True):
    """All accesses of a kernel to global memory.

    Attributes:
        nodes: the expressions.
        loops: header block -> conditions of the loop.
        joins: block -> predecessor -> conditions under which control comes from there.
        accesses: in the order of the code.
        has_loops: whether the kernel has any loop.
    """

    nodes: tuple[Node, ...]
    loops: Mapping[int, LoopConditions]
    joins: Mapping[int, Mapping[int, Conditions]]
    accesses: tuple[Access, ...]
    has_loops: bool
