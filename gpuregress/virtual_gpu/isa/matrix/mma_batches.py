"""Batches of matrix products, each of which waits once for the lanes of a warp.

Unrolled kernels hold thousands of mma, sixteen or more of them in a row. LLVM's time grows with the number of waits. A
batch has the operands of its members one behind the other, and a further one that names for each member the earlier one
whose result it adds to, or itself:

    mma D0, A0, B0, C0;  mma D1, A1, B1, D0;   →   mma {D0, D1}, {A0, A1}, {B0, B1}, {C0}, {0, 0};
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis.effects import reads, sets
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, ResultKind, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Integer, Module, Operand, Statement, Vector, elements

MOST = 64
"""Members of a batch."""

_RESULTS = ("f16", "f32")
"""Types of results that one lane computes for all: those of other types are quick alone."""


class Member(Record):
    """One product of a batch.

    Attributes:
        d, a, b: its registers.
        c: its registers; none where it adds to an earlier result.
        source: the member whose result it adds to; its own number: none.
    """

    d: tuple[Operand, ...]
    a: tuple[Operand, ...]
    b: tuple[Operand, ...]
    c: tuple[Operand, ...]
    source: int


def members(instruction: Instruction) -> list[Member]:
    """The products of an mma, which may be a batch."""
    d, a, b, c, *rest = (elements(operand) for operand in instruction.operands)
    if not is_batch(instruction):
        return [Member(d, a, b, c, 0)]
    sources = [item.value for item in rest[0] if isinstance(item, Integer)]
    count, own = len(sources), [number for number, source in enumerate(sources) if source == number]
    parts = [
        [operand[at * len(operand) // count :][: len(operand) // count] for at in range(count)] for operand in (d, a, b)
    ]
    starts = {number: c[at * len(c) // len(own) :][: len(c) // len(own)] for at, number in enumerate(own)}
    return [
        Member(parts[0][number], parts[1][number], parts[2][number], starts.get(number, ()), source)
        for number, source in enumerate(sources)
    ]


def is_batch(instruction: Instruction) -> bool:
    """Whether an mma is a batch."""
    return len(instruction.operands) > 4 and isinstance(instruction.operands[4], Vector)


def instruction_count(statement: Statement) -> int:
    """The instructions that a statement counts as: a product of matrices as two, in which its lanes meet twice."""
    if not isinstance(statement, Instruction) or not info(statement).operands_in_context:
        return 1
    return 2 * len(elements(statement.operands[4])) if is_batch(statement) else 2


def with_batches(tree: Module) -> Module:
    """The module with a batch in place of each run of mma that can be one."""
    return replace(tree, functions=tuple(_function(item) for item in tree.functions))


def _function(function: Function) -> Function:
    body = function.body or ()
    if sum(_is_candidate(item) for item in body) < 2:
        return function
    result: list[Statement] = []
    at = 0
    while at < len(body):
        first = body[at]
        if isinstance(first, Instruction) and _is_candidate(first):
            run = _Run(first)
            end = run.extend(body, at + 1)
            result += [*run.before, run.statement()]
            at = end
        else:
            result.append(first)
            at += 1
    return replace(function, body=tuple(result))


def _is_pure(statement: Statement) -> bool:
    """Whether a statement only computes registers from others."""
    if not isinstance(statement, Instruction) or statement.guard is not None:
        return False
    facts = info(statement)
    return (
        facts.result is ResultKind.PURE
        and facts.memory is MemoryEffect.NONE
        and facts.control is Control.NEXT
        and facts.wait is Wait.NONE
    )


def _is_candidate(statement: Statement) -> bool:
    if not isinstance(statement, Instruction) or statement.opcode != "mma" or statement.guard is not None:
        return False
    words = statement.modifiers
    is_plain = len(statement.operands) == 4 and "m8n8k4" not in words and not words[0].startswith("sp")
    return is_plain and words[0] == "sync" and next((word in _RESULTS for word in _types(words)), False)


def _types(words: Sequence[str]) -> list[str]:
    """The types of D, A, B and C: the words behind shape and layouts."""
    return [word for word in words if word[0] in "fbestu" and any(letter.isdigit() for letter in word)]


@dataclass(slots=True)
class _Run:
    """Products that may become a batch, and the statements between them, which are done before."""

    first: Instruction
    products: list[Instruction] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    before: list[Statement] = field(default_factory=list)
    _writers: dict[str, int] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._add(self.first, 0)

    def extend(self, body: Sequence[Statement], at: int) -> int:
        """Add the products that follow; return where the run ends."""
        end, between = at, list[Statement]()
        while at < len(body) and len(self.products) < MOST:
            statement = body[at]
            at += 1
            source = self._source(statement)
            if source is not None and isinstance(statement, Instruction):
                self._add(statement, source)
                self.before += between
                end, between = at, []
            elif self._can_be_done_before(statement):
                between.append(statement)
            else:
                break
        return end

    def statement(self) -> Instruction:
        """The batch, or the only product."""
        if len(self.products) == 1:
            return self.first
        d, a, b, _ = (Vector(_concatenated(self.products, operand)) for operand in range(4))
        starts = [item for number, item in enumerate(self.products) if self.sources[number] == number]
        sources = Vector(tuple(map(Integer, self.sources)))
        return replace(self.first, operands=(d, a, b, Vector(_concatenated(starts, 3)), sources))

    def _source(self, statement: Statement) -> int | None:
        """The member whose result a product adds to, or the number that it would have; None: it cannot join."""
        if not _is_candidate(statement) or not isinstance(statement, Instruction):
            return None
        same = statement.modifiers == self.first.modifiers and all(
            len(elements(one)) == len(elements(other))
            for one, other in zip(statement.operands, self.first.operands, strict=True)
        )
        d, a, b, c = statement.operands
        factors = replace(statement, operands=(d, a, b))
        if not same or not self._writers.keys().isdisjoint(reads(factors)):
            return None
        added = _names(statement, c)
        if self._writers.keys().isdisjoint(added):
            return len(self.products)
        writers = {self._writers.get(name, -1) for name in added}
        number = min(writers)
        types = _types(statement.modifiers)
        is_whole = len(writers) == 1 and number >= 0 and elements(self.products[number].operands[0]) == elements(c)
        return number if is_whole and types[0] == types[-1] else None

    def _add(self, product: Instruction, source: int) -> None:
        number = len(self.products)
        self.products.append(product)
        self.sources.append(source)
        self._used |= set(reads(product))
        self._writers |= dict.fromkeys(sets(product), number)

    def _can_be_done_before(self, statement: Statement) -> bool:
        """Whether a statement computes a register from others, and neither they nor it are those of the products."""
        results = self._writers.keys()
        return (
            _is_pure(statement)
            and results.isdisjoint(reads(statement))
            and results.isdisjoint(sets(statement))
            and self._used.isdisjoint(sets(statement))
        )


def _concatenated(products: Sequence[Instruction], operand: int) -> tuple[Operand, ...]:
    return tuple(item for product in products for item in elements(product.operands[operand]))


def _names(product: Instruction, operand: Operand) -> tuple[str, ...]:
    return reads(replace(product, operands=(Vector(()), operand)))
