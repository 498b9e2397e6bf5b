"""Area of a warp, in which its lanes show each other the parts of matrices that they hold.

Each lane writes its registers to the area in the block's context, and waits for the others. The barriers of
`aligned_barriers` keep the area until all lanes have read it. Frequent instructions do without: they read the rows in
which the context has the lanes' registers, and leave their results in such rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.lane_mailbox import post
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, i32, i64
from gpuregress.virtual_gpu.builder.thread_context import LAYOUT, WARP
from gpuregress.virtual_gpu.builder.threads import lane, warp
from gpuregress.virtual_gpu.builder.types import I64, width
from gpuregress.virtual_gpu.isa.matrix.matrix_element import MatrixElement
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand, Register, Sink, elements
from gpuregress.virtual_gpu.runtime.machine_layout import AREA

_ALL_LANES = 0xFFFF_FFFF
LOAD, STORE, MOVE, MULTIPLY, PRODUCT = range(96, 176, 16)
"""The operations' numbers in a warp operation's key: see `lane_mailbox`."""


def area(emitter: Services) -> ir.Value:
    """A pointer to the area of the thread's warp."""
    b = emitter.builder
    distance = b.mul(b.zext(warp(b, emitter.view, emitter.thread), I64), i64(AREA))
    return at(b, at(b, emitter.view.pointer("context"), LAYOUT["area"][0]), distance)


def own_lane(emitter: Services) -> ir.Value:
    """The thread's lane, i32."""
    return lane(emitter.builder, emitter.view, emitter.thread)


def show(emitter: Services, start: int, values: list[ir.Value]) -> int:
    """Write values (of one integer type) to the warp's area, lane by lane from byte `start`; return where they end."""
    b = emitter.builder
    step: int = values[0].type.width // 8
    stride = step * len(values)
    offset = b.add(b.mul(b.zext(own_lane(emitter), I64), i64(stride)), i64(start))
    own = at(b, area(emitter), offset)
    for number, value in enumerate(values):
        b.store(value, at(b, own, step * number), align=step)
    return start + 32 * stride


def meet(emitter: Services, operation: int, value: ir.Value | None = None) -> None:
    """Wait until all lanes of the warp have written their registers to the area; `value` (i64) is posted."""
    post(emitter, operation, i32(_ALL_LANES), i64(0) if value is None else value)
    emitter.wait(WARP)


def show_factors(emitter: Services, kind: MatrixElement, left: Operand, right: Operand) -> tuple[ir.Value, ir.Value]:
    """Write this lane's A and B to the area, and wait for the other lanes; return where all of A and of B are."""
    type_name = f"b{kind.register}"
    middle = show(emitter, 0, [emitter.read(item, type_name) for item in elements(left)])
    show(emitter, middle, [emitter.read(item, type_name) for item in elements(right)])
    meet(emitter, MULTIPLY)
    shown = area(emitter)
    return shown, at(emitter.builder, shown, middle)


def context_rows(emitter: Services, operands: Iterable[Operand]) -> list[int]:
    """The first bytes of the rows of the thread context that have the operands' values, of 32 bits each."""
    return [_row(emitter, operand, number) for number, operand in enumerate(operands)]


def _row(emitter: Services, operand: Operand, number: int) -> int:
    if not isinstance(operand, Register):
        name = f"operand.{number}"
        emitter.exits.keep(emitter, name, i32(0) if isinstance(operand, Sink) else emitter.read(operand, "b32"))
        return emitter.exits.row_of(emitter, name)
    if width(emitter.declared(operand.name)) != 32:
        raise unsupported(emitter.current(), f"register {operand.name} does not have 32 bits")
    return emitter.exits.row_of(emitter, operand.name)


def load_results(emitter: Services, instruction: Instruction, operands: Iterable[Operand]) -> None:
    """Load the results that the warp's first lane has left in the context, where they are read before the next wait."""
    liveness = emitter.flow.liveness
    assert liveness is not None
    needed = liveness.needed_results[emitter.index] if instruction.guard is None else None
    for register in dict.fromkeys(item for item in operands if isinstance(item, Register)):
        if needed is None or register.name in needed:
            emitter.write(register, emitter.exits.load_kept(emitter, register.name), "b32")
