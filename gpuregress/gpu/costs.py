"""Exact costs of a case: executed instructions, sectors, bank conflicts and divergence of each line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import field

from gpuregress.gpu.records import Sparse, replace

MEASURES: dict[str, str] = {
    "instructions": "instructions that warps issue",
    "thread_instructions": "instructions that threads execute",
    "sectors": "sectors of 32 bytes of global and local memory",
    "requests": "requests of warps for global and local memory",
    "bank_conflicts": "further passes over shared memory, for banks that several words of a request need",
    "divergent_branches": "branches at which the lanes of a warp go both ways",
    "atomic_conflicts": "lanes of a warp that update an address which another one updates in the same request",
    "barriers": "barriers of blocks and clusters at which warps wait",
    "tensor_operations": "matrix instructions that warps issue",
    "bytes": "bytes that threads load and store",
}
"""What a job can bound under `cost:`, in words."""


class InstructionCost(Sparse):
    """The costs of one PTX instruction of one kernel.

    Attributes:
        kernel: as reports name it; "" before it is known.
        path: of the source file; "" where the compiler left no line.
        line: of the source.
        ptx_line: of the compiled code.
        mnemonic: `ld.global.f32`.
        kind: class, as `float` or `load.global`.
        counts: measure → count; `MEASURES` and `requests.global`, `sectors.global`, `requests.shared`, `branches`.
        chain: (file, line, column) of the code and of the calls that it is inlined into, before paths are known.
    """

    kernel: str
    path: str
    line: int
    ptx_line: int
    mnemonic: str
    kind: str
    counts: Mapping[str, int] = field(default_factory=dict)
    chain: tuple[tuple[str, int, int], ...] = ()


class Costs(Sparse):
    """The costs of a case.

    Attributes:
        instructions: that were compiled, in the order of the code.
        contention: kernel → the most updates of one address by atomic operations of one launch.
        uncounted: why they cannot be compared, in words: rows were lost; "" where they can.
        left_out: what is never counted of the instructions that were executed, with its lines.
    """

    instructions: tuple[InstructionCost, ...] = ()
    contention: Mapping[str, int] = field(default_factory=dict)
    uncounted: str = ""
    left_out: tuple[str, ...] = ()


class LineCost(Sparse):
    """The costs of one source line, as a baseline keeps them.

    Attributes:
        file: its name without folders.
        line: counted from 1.
        text: of the line, by which it is found again after an edit.
        counts: of `MEASURES`, without zeros.
    """

    file: str
    line: int
    text: str
    counts: Mapping[str, int] = field(default_factory=dict)


class CostComparison(Sparse):
    """A cost of a case compared with the accepted one.

    Attributes:
        measure: one of `MEASURES`; "" where something was not compared.
        message: the result in one line: the line that became worse, or what was not compared.
        fails: whether it is greater than the job's `cost:` allows.
        expected: the accepted count.
        actual: this run's.
        limit: the job's.
    """

    measure: str
    message: str
    fails: bool = False
    expected: int | None = None
    actual: int | None = None
    limit: float | None = None


def total(items: Iterable[InstructionCost]) -> dict[str, int]:
    """The sum of the counts of several instructions."""
    counts: dict[str, int] = {}
    for item in items:
        for name, count in item.counts.items():
            counts[name] = counts.get(name, 0) + count
    return counts


def merged(parts: Iterable[Costs]) -> Costs:
    """The sum of several launches' costs."""
    found: dict[tuple[str, str, int, int, str], InstructionCost] = {}
    contention: dict[str, int] = {}
    uncounted: dict[str, None] = {}
    left_out: dict[str, None] = {}
    for part in parts:
        for item in part.instructions:
            key = (item.kernel, item.path, item.line, item.ptx_line, item.mnemonic)
            before = found.get(key)
            counts = item.counts if before is None else total((before, item))
            found[key] = replace(item, counts=counts, chain=())
        for kernel, most in part.contention.items():
            contention[kernel] = max(most, contention.get(kernel, 0))
        if part.uncounted:
            uncounted[part.uncounted] = None
        left_out |= dict.fromkeys(part.left_out)
    return Costs(tuple(found.values()), contention, "; ".join(uncounted), tuple(left_out))


def by_line(costs: Costs) -> dict[tuple[str, int], dict[str, int]]:
    """(path, line) → the sum of the counts of its instructions; without those of libraries' own lines."""
    found: dict[tuple[str, int], list[InstructionCost]] = {}
    for item in costs.instructions:
        if item.path and item.counts:
            found.setdefault((item.path, item.line), []).append(item)
    return {place: total(found[place]) for place in sorted(found)}
