"""Stride analysis: the constant step of a value from one thread to the next along x.

32-bit arithmetic wraps around, so a 32-bit value has its stride only modulo 2^32. Where it is widened to 64 bits, the
kernel must check when it runs that the value did not wrap between the first and the last thread of the row: `widened`
lists these registers. After these checks the stride holds for the 64-bit value, too.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add, neg, pos, sub
from typing import ClassVar

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.ptx.modifiers import INDEX_BITS, is_signed
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Operand, Register, Symbol

_UNIFORM = ("%ntid.", "%ctaid.", "%nctaid.", "%tid.y", "%tid.z")


class Stride(Record):
    """The stride of a value.

    Attributes:
        step: the difference between neighbouring threads along x.
        widened: registers whose 32-bit value must not wrap within a row, and whether they are signed.
    """

    step: int
    widened: frozenset[tuple[str, bool]] = frozenset()


_STILL = Stride(0)
_LINEAR: dict[Arithmetic, Callable[..., int]] = {
    Arithmetic.COPY: pos,
    Arithmetic.NOT: neg,
    Arithmetic.NEGATE: neg,
    Arithmetic.ADD: add,
    Arithmetic.SUBTRACT: sub,
}
"""Operation → the step of its result from the steps of its operands."""


class Strides:
    """Strides of one kernel's values.

    Args:
        definitions: register → its only definition; a pure function of thread numbers, dimensions and parameters.
        known: register → its stride, where something else proves it.
    """

    def __init__(self, definitions: dict[str, Instruction], known: dict[str, Stride] | None = None) -> None:
        self._definitions = definitions
        self._known: dict[str, Stride | None] = {**(known or {})}

    def of(self, operand: Operand) -> Stride | None:
        """The stride of an operand; None where it is not constant or not known."""
        if isinstance(operand, Integer | Symbol):
            return _STILL
        if not isinstance(operand, Register):
            return None
        name = operand.name
        if name == "%tid.x":
            return Stride(1)
        if name.startswith(_UNIFORM):
            return _STILL
        if name not in self._known:
            self._known[name] = None
            definition = self._definitions.get(name)
            self._known[name] = None if definition is None else self._of_instruction(definition)
        return self._known[name]

    def _of_instruction(self, instruction: Instruction) -> Stride | None:
        if info(instruction).memory is MemoryEffect.READ:
            return _STILL
        sources = [self.of(item) for item in instruction.operands[1:]]
        known = [item for item in sources if item is not None]
        if len(known) < len(sources):
            return None
        stride = _STILL if all(item.step == 0 for item in known) else self._of_linear(instruction, known)
        if stride is None:
            return None
        return Stride(stride.step, stride.widened.union(*(item.widened for item in known)))

    def _of_linear(self, instruction: Instruction, sources: list[Stride]) -> Stride | None:
        bits = INDEX_BITS.get(instruction.modifiers[-1], 0)
        if not bits or {"cc", "sat", "hi"} & set(instruction.modifiers):
            return None
        operation = info(instruction).arithmetic
        if operation in _LINEAR:
            return _wrapped(_LINEAR[operation](*(item.step for item in sources)), bits)
        rule = self._rules.get(operation)
        return None if rule is None else rule(self, instruction, sources, bits)

    def _of_shift(self, instruction: Instruction, sources: list[Stride], bits: int) -> Stride | None:
        amount = instruction.operands[2]
        if not isinstance(amount, Integer) or not 0 <= amount.value < bits:
            return None
        return _wrapped(sources[0].step << amount.value, bits)

    def _of_product(self, instruction: Instruction, sources: list[Stride], bits: int) -> Stride | None:
        """`a * c + b` with a constant `c`."""
        first, second = instruction.operands[1:3]
        step, factor_step = sources[0].step, sources[1].step
        if isinstance(first, Integer):
            first, second = second, first
            step, factor_step = factor_step, step
        total = sources[2].step if len(sources) > 2 else 0
        is_wide = "wide" in instruction.modifiers
        widened: frozenset[tuple[str, bool]] = frozenset()
        if step or factor_step:
            if not isinstance(second, Integer) or not 0 <= second.value < 1 << 31:
                return None
            total += step * second.value
            if is_wide and isinstance(first, Register):
                widened = frozenset([(first.name, is_signed(instruction.modifiers[-1]))])
        return Stride(_wrapped(total, 64 if is_wide else bits).step, widened)

    def _of_conversion(self, instruction: Instruction, sources: list[Stride], _bits: int) -> Stride | None:
        operand, words = instruction.operands[1], instruction.modifiers
        if len(words) != 2 or not set(words) <= INDEX_BITS.keys() or not isinstance(operand, Register):
            return None
        bits = INDEX_BITS[words[0]]
        if bits <= INDEX_BITS[words[1]]:
            return _wrapped(sources[0].step, bits)
        return Stride(sources[0].step, frozenset([(operand.name, is_signed(words[1]))]))

    _rules: ClassVar[dict[Arithmetic, Callable[..., Stride | None]]] = {
        Arithmetic.SHIFT_LEFT: _of_shift,
        Arithmetic.MULTIPLY: _of_product,
        Arithmetic.MULTIPLY_ADD: _of_product,
        Arithmetic.CONVERT: _of_conversion,
    }


def _wrapped(step: int, bits: int) -> Stride:
    """The step in two's complement."""
    half = 1 << (bits - 1)
    return Stride((step + half) % (2 * half) - half)
