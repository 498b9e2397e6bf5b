"""Loads whose value is used only where a predicate holds that a thread keeps all the time.

Triton lets all warps of a block load what one warp needs, and stores under a predicate such as `(tid & 96) == 0`. In
the other warps the loaded value is dead, so what another thread writes there meanwhile changes nothing. Liveness is
dynamic here: the check of such a load is guarded by the predicates of all instructions that use its value.

A predicate counts as far as it is a conjunction of conditions on thread and block numbers and kernel parameters. These
never change, so what computes them is moved to the begin of the kernel. Everything else that uses a value (a branch, a
call, an address, a store without such a predicate) makes it live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.modifiers import is_synchronizing, space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Exchange, MemoryEffect, ResultKind, info
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Function,
    Guard,
    Instruction,
    Integer,
    Label,
    Module,
    Negated,
    Operand,
    Register,
    RegisterDeclaration,
    Statement,
    Symbol,
)

_CONSTANT = frozenset(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz")
_OF_THE_THREAD = ("%tid.x", "%tid.y", "%tid.z")
_SHIFT = SM_90.warp_size.bit_length() - 1
_WARPS = ~(SM_90.warp_size - 1) & 0xFFFF_FFFF
"""The bits of a thread's number that tell its warp."""


class _Condition(Record):
    """A predicate register, or its opposite."""

    register: str
    negated: bool


def with_guarded_loads(tree: Module) -> Module:
    """The module with the predicates of such loads computed early, and named by the loads (`Instruction.live_if`)."""
    functions = list(tree.functions)
    for position, function in enumerate(functions):
        if function.is_entry and function.body is not None:
            functions[position] = _Loads(function).rewritten()
    return replace(tree, functions=tuple(functions))


class _Loads:
    """The guarded loads of one kernel."""

    def __init__(self, function: Function) -> None:
        self._function = function
        body = function.statements
        self._readers: dict[str, list[Statement]] = {}
        counts: Counter[str] = Counter()
        self._definition: dict[str, Instruction] = {}
        for item in body:
            for name in dict.fromkeys(effects.reads(item)):
                self._readers.setdefault(name, []).append(item)
            for name in effects.sets(item):
                counts[name] += 1
                if isinstance(item, Instruction):
                    self._definition[name] = item
        for name, count in counts.items():
            if count > 1:
                self._definition.pop(name, None)
        sizes = function.directives.get("reqntid")
        self._is_row = sizes is not None and all(size == 1 for size in sizes[1:])
        self._parameters = {item.name for item in function.parameters}
        self._moved: dict[Instruction, None] = {}
        self._added: list[Instruction] = []
        self._declared: list[RegisterDeclaration] = []
        self._computed: set[str] = set()
        self._constant: dict[Guard, tuple[_Condition, ...]] = {}
        self._known: dict[tuple[tuple[_Condition, ...], ...], str] = {}

    def rewritten(self) -> Function:
        """The function with early predicates."""
        body = list(self._function.statements)
        for position, item in enumerate(body):
            if not isinstance(item, Instruction) or not _is_plain_load(item):
                continue
            uses = self._uses(item)
            if uses:
                body[position] = replace(item, live_if=self._any_of(uses))
        if not self._added:
            return self._function
        body = [item for item in body if item not in self._moved]
        registers = (*self._function.registers, *self._declared)
        return replace(self._function, registers=registers, body=(*self._moved, *self._added, *body))

    # --- uses of a value ----------------------------------------------------------------------------------------------

    def _uses(self, load: Instruction) -> list[tuple[_Condition, ...]]:
        """For each instruction that uses a loaded value the conditions of its predicate; empty where one has none.

        The uses are those of all registers that the value may be in, wherever they are set.
        """
        pending = list(effects.sets(load))
        seen = set(pending)
        uses: list[tuple[_Condition, ...]] = []
        is_exchanged = False
        while pending:
            for reader in self._readers.get(pending.pop(), ()):
                conditions = self._conditions(reader)
                if conditions:
                    uses.append(conditions)
                    continue
                if not (_is_pure(reader) or _is_shuffle(reader)):
                    return []
                is_exchanged |= _is_shuffle(reader)
                new = set(effects.sets(reader)) - seen
                seen |= new
                pending += sorted(new)
        if is_exchanged:
            # Other lanes use the value, too.
            uses = [self._in_any_lane(conditions) for conditions in uses]
        return uses if all(uses) else []

    def _conditions(self, item: Statement) -> tuple[_Condition, ...]:
        """Conditions that never change, of which each must hold for a statement to be executed."""
        if isinstance(item, Label) or item.guard is None:
            return ()
        if item.guard not in self._constant:
            self._constant[item.guard] = tuple(self._expanded(item.guard))
        return self._constant[item.guard]

    def _expanded(self, guard: Guard) -> Iterator[_Condition]:
        pending = [_Condition(guard.register, guard.negated)]
        while pending:
            condition = pending.pop()
            negated = condition.negated
            definition = self._definition.get(condition.register)
            if definition is not None and definition.guard is None and definition.modifiers == ("pred",):
                joins = Arithmetic.OR if negated else Arithmetic.AND
                if info(definition).arithmetic is joins:
                    pending += [_condition(operand, negated=negated) for operand in definition.operands[1:]]
                    continue
            if self._cone(condition.register) is not None:
                yield condition

    def _cone(self, name: str) -> list[Instruction] | None:
        """The instructions that compute a register from what never changes, in order; None where there are others."""
        order: dict[str, Instruction] = {}
        pending = [(name, False)]
        entered: set[str] = set()
        while pending:
            register, is_done = pending.pop()
            if register in _CONSTANT or register in order:
                continue
            definition = self._definition.get(register)
            if definition is None or definition.guard is not None:
                return None
            if not _is_pure(definition) and not self._is_parameter(definition):
                return None
            if is_done:
                order[register] = definition
                continue
            if register in entered:
                return None
            entered.add(register)
            pending.append((register, True))
            pending += [(source, False) for source in effects.reads(definition)]
        return list(dict.fromkeys(order.values()))

    def _is_parameter(self, item: Instruction) -> bool:
        """Whether an instruction reads a parameter of the kernel."""
        if item.opcode != "ld" or space_of(item) != "param" or not isinstance(item.operands[1], Address):
            return False
        base = item.operands[1].base
        return isinstance(base, Symbol) and base.name in self._parameters

    def _in_any_lane(self, conditions: tuple[_Condition, ...]) -> tuple[_Condition, ...]:
        """Conditions that hold in all lanes of a warp where the given ones hold in any, as far as they are known."""
        weaker = []
        for condition in conditions:
            if self._is_of_warp(condition.register):
                weaker.append(condition)
                continue
            of_warp = self._of_warp(condition)
            if of_warp is not None:
                weaker.append(of_warp)
        return tuple(weaker)

    def _of_warp(self, condition: _Condition) -> _Condition | None:
        """The condition on the number of the warp that follows from one on the number of the thread.

        `tid == 32` holds in no lane where `tid & ~31 == 32` does not.
        """
        test = self._definition[condition.register]
        equal = "ne" if condition.negated else "eq"
        if not self._is_row or test.opcode != "setp" or test.modifiers[0] != equal:
            return None
        if len(test.operands) != 3 or not isinstance(test.operands[0], Register):  # As in `setp.eq %p|%q`.
            return None
        _, masked, limit = test.operands
        if not isinstance(limit, Integer):
            return None
        mask = -1
        if isinstance(masked, Register) and masked.name in self._definition:
            source = self._definition[masked.name]
            if source.opcode == "and" and isinstance(source.operands[2], Integer):
                masked, mask = source.operands[1], source.operands[2].value
        warps = mask & _WARPS
        if not self._is_number(masked) or not warps:
            return None
        self._moved.update(dict.fromkeys(self._cone(condition.register) or ()))
        number, holds = self._new("b32"), self._new("pred")
        self._added.append(Instruction("and", ("b32",), (number, masked, Integer(warps))))
        self._added.append(Instruction("setp", ("eq", "u32"), (holds, number, Integer(limit.value & _WARPS))))
        self._computed.add(holds.name)
        return _Condition(holds.name, negated=False)

    def _is_of_warp(self, name: str) -> bool:
        """Whether a register is the same in all lanes of a warp, in a block that is one row of threads."""
        if name in _CONSTANT:
            return name not in _OF_THE_THREAD
        definition = self._definition[name]
        if self._is_row and definition.opcode in ("and", "shr") and self._is_number(definition.operands[1]):
            amount = definition.operands[2]
            if isinstance(amount, Integer) and definition.opcode == "shr" and amount.value >= _SHIFT:
                return True
            if isinstance(amount, Integer) and definition.opcode == "and" and amount.value > 0:
                names_lanes = amount.value & SM_90.warp_size - 1
                if not names_lanes:
                    return True
        return all(self._is_of_warp(source) for source in effects.reads(definition))

    def _is_number(self, operand: Operand) -> bool:
        """Whether an operand is the number of the thread along x."""
        if not isinstance(operand, Register):
            return False
        if operand.name == "%tid.x":
            return True
        definition = self._definition.get(operand.name)
        return definition is not None and definition.opcode == "mov" and self._is_number(definition.operands[1])

    # --- code ---------------------------------------------------------------------------------------------------------

    def _any_of(self, uses: Iterable[tuple[_Condition, ...]]) -> str:
        """The register of a predicate that holds where one of the uses may happen."""
        wanted = tuple(dict.fromkeys(uses))
        if wanted not in self._known:
            sides = [self._joined("and", list(map(self._early, conditions))) for conditions in wanted]
            self._known[wanted] = self._joined("or", sides).name
        return self._known[wanted]

    def _early(self, condition: _Condition) -> Register:
        """Move what computes a condition to the begin."""
        if condition.register not in self._computed:
            self._moved.update(dict.fromkeys(self._cone(condition.register) or ()))
        register = Register(condition.register)
        if condition.negated:
            register = self._made("not", register)
        return register

    def _joined(self, opcode: str, operands: list[Register]) -> Register:
        result, *others = operands
        for other in others:
            result = self._made(opcode, result, other)
        # One of its own for a single condition, too: none of them is rewritten where nothing was added.
        return result if others or opcode == "and" else self._made("mov", result)

    def _made(self, opcode: str, *operands: Register) -> Register:
        target = self._new("pred")
        self._added.append(Instruction(opcode, ("pred",), (target, *operands)))
        return target

    def _new(self, type_name: str) -> Register:
        register = Register(f"%early{len(self._declared)}")
        self._declared.append(RegisterDeclaration(register.name, type_name))
        return register


def _condition(operand: Operand, *, negated: bool) -> _Condition:
    if isinstance(operand, Negated):
        return _Condition(operand.operand.name, not negated)
    name = operand.name if isinstance(operand, Register) else ""
    return _Condition(name, negated)


def _is_plain_load(item: Instruction) -> bool:
    """Whether an instruction is a load that the checks watch, and that is neither volatile nor ordered."""
    is_ordered = is_synchronizing(item) or "volatile" in item.modifiers
    return item.opcode == "ld" and space_of(item) in ("", "global", "shared") and not is_ordered


def _is_pure(item: Statement) -> bool:
    """Whether a statement does nothing but compute registers from registers."""
    if not isinstance(item, Instruction):
        return False
    return info(item).result is ResultKind.PURE and info(item).memory is MemoryEffect.NONE


def _is_shuffle(item: Statement) -> bool:
    return isinstance(item, Instruction) and info(item).exchange is Exchange.VALUES
