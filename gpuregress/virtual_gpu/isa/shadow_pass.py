"""Pass that adds shadow values of higher precision to a module."""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.isa.shadow_arithmetic import DIGITS, NARROW_ONLY, OPERATIONS, shadow_of
from gpuregress.virtual_gpu.ptx.modifiers import BITS, FLOATS, lanes, type_of
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Float,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Operand,
    Pair,
    Register,
    RegisterDeclaration,
    Sink,
    Statement,
    Symbol,
    Vector,
    elements,
)

# --- kinds of shadows -------------------------------------------------------------------------------------------------


Kinds = dict[str, str]
_MOVES_OF_BITS = {32: "f32", 64: "f64"}


def float_types(instruction: Instruction) -> list[str]:
    """The floating-point types among the modifiers."""
    return [word for word in instruction.modifiers if word in FLOATS]


def is_arithmetic(instruction: Instruction) -> bool:
    """Whether an instruction is floating-point arithmetic that has a shadow."""
    types = float_types(instruction)
    if instruction.opcode not in OPERATIONS or len(types) != 1 or types[0] not in DIGITS:
        return False
    is_other = "xorsign" in instruction.modifiers or len(instruction.operands) != _operands(instruction.opcode)
    return not is_other and not (types[0] == "f64" and instruction.opcode in NARROW_ONLY)


def _operands(opcode: str) -> int:
    if opcode in ("fma", "mad"):
        return 4
    return 3 if opcode in ("add", "sub", "mul", "div", "min", "max", "copysign") else 2


def conversion(instruction: Instruction) -> tuple[str, str] | None:
    """The kinds of the result and the source of a conversion between floats; None for another instruction."""
    types = float_types(instruction)
    if instruction.opcode != "cvt" or len(types) != len(("to", "from")) or len(instruction.operands) != len(types):
        return None
    return (types[0], types[1]) if types[0] in DIGITS and types[1] in DIGITS else None


def is_copy(instruction: Instruction) -> bool:
    """Whether an instruction copies registers as they are."""
    if instruction.opcode == "mov":
        return all(isinstance(item, Register) for item in instruction.operands)
    return instruction.opcode in ("selp", "shfl")


def copied(instruction: Instruction) -> tuple[Operand, ...]:
    """The result of a copy, and the operands that it may be a copy of."""
    first = instruction.operands[0]
    target = first.first if isinstance(first, Pair) else first
    return (target, *instruction.operands[1 : 3 if instruction.opcode == "selp" else 2])


def find_kinds(function: Function) -> Kinds:
    """The kinds of the registers of a function that have a shadow, by register."""
    widths = {item.name: BITS[item.type] for item in function.registers if item.lanes == 1 and item.type in BITS}
    body = [item for item in function.body or () if isinstance(item, Instruction)]
    kinds: Kinds = {}
    for name, kind in (pair for item in body for pair in _direct(item)):
        if widths.get(name) == BITS[kind]:
            kinds.setdefault(name, kind)
    copies = [[one.name for one in copied(item) if isinstance(one, Register)] for item in body if is_copy(item)]
    _spread(kinds, copies, widths)
    moved = _of_memory(body, "ld") & _of_memory(body, "st")
    for name in moved - set(kinds):
        if widths.get(name) in _MOVES_OF_BITS:
            kinds[name] = _MOVES_OF_BITS[widths[name]]
    _spread(kinds, copies, widths)
    return kinds


def _direct(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """The registers that an instruction itself uses as floats."""
    both = conversion(instruction)
    if both is not None:
        used = zip(instruction.operands, both, strict=True)
    elif instruction.opcode == "cvt":
        types = [word for word in instruction.modifiers if word in BITS][-2:]
        used = zip(instruction.operands[:2], types, strict=False)
    elif is_arithmetic(instruction):
        used = ((item, float_types(instruction)[0]) for item in instruction.operands)  # type: ignore[assignment]
    elif instruction.opcode in ("ld", "st", "atom", "red", "mov", "selp", "mma", "wgmma", "wmma"):
        types = float_types(instruction)
        kind = types[0] if types else ""
        used = ((item, kind) for one in instruction.operands for item in elements(one))  # type: ignore[assignment]
    else:
        return
    for item, kind in used:
        if isinstance(item, Register) and kind in DIGITS:
            yield item.name, kind


def _spread(kinds: Kinds, copies: list[list[str]], widths: dict[str, int]) -> None:
    """Give copies the kind of what they are copies of."""
    changed = True
    while changed:
        changed = False
        for names in copies:
            kind = next((kinds[name] for name in names if name in kinds), None)
            for name in names:
                if kind is not None and name not in kinds and widths.get(name) == BITS[kind]:
                    kinds[name], changed = kind, True


def _of_memory(body: list[Instruction], opcode: str) -> set[str]:
    found = [item for item in body if item.opcode == opcode and type_of(item) in BITS]
    operands = (elements(item.operands[0 if opcode == "ld" else 1]) for item in found)
    return {one.name for items in operands for one in items if isinstance(one, Register)}


# --- the pass ---------------------------------------------------------------------------------------------------------
# Insertion of shadow values into a PTX function.
#
# Shadow execution: beside each floating-point register there is one of higher precision, which the same instruction
# computes from the shadows of its operands. Control flow and integers follow the original. Nsan (Courbet, "NSan: a
# floating-point numerical sanitizer", 2021) does so in LLVM. Registers of shadows are registers like all others, so
# that every schedule of threads saves them.


_INTEGER_ROUNDINGS = frozenset(["rni", "rzi", "rmi", "rpi"])
_MAGIC = {"f32": 2.0**22, "f64": 2.0**51, "f16": 2.0**9, "bf16": 2.0**6}
"""A constant as large as this rounds what is added to it to an integer."""
_PACKED = frozenset(["f16x2", "bf16x2"])
_SILENT = frozenset(["mov", "cvt", "set", "selp", "shfl", "tex", "tld4", "ld", "ldu"])
"""Opcodes whose result is new, exact or a copy: no precision is lost at them."""


def with_shadows(module: Module) -> Module:
    """Insert shadow values into the functions of a module."""
    return replace(module, functions=tuple(_Inserter(one).function() if one.body else one for one in module.functions))


class _Inserter:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._kinds: Kinds = find_kinds(function)
        self._declared = {
            part.name: RegisterDeclaration(part.name, "f64")
            for name, kind in self._kinds.items()
            for part in shadow_of(name, kind)
        }
        self._pending = self._asynchronous()

    def function(self) -> Function:
        """The function with its shadows."""
        body = tuple(item for statement in self._function.body or () for item in self._statement(statement))
        return replace(self._function, body=body, registers=(*self._function.registers, *self._declared.values()))

    def _asynchronous(self) -> tuple[str, ...]:
        """The registers that asynchronous matrix instructions set, which are read after their wait only."""
        body = [item for item in self._function.body or () if isinstance(item, Instruction) and item.opcode == "wgmma"]
        return tuple(dict.fromkeys(name for item in body for name in effects.sets(item) if name in self._kinds))

    def _statement(self, statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, Label):
            yield statement
        elif isinstance(statement, Call):
            yield statement
            for name in effects.sets(statement):
                if name in self._kinds:
                    yield self._restart(Instruction("call", (), (), None, 0, statement.source), name)
        elif statement.opcode in ("atom", "red") and self._is_followed(statement):
            yield from self._atomic(statement)
        elif statement.opcode in ("ld", "ldu"):
            yield from self._load(statement)
        elif statement.opcode == "st" and "async" not in statement.modifiers:
            yield statement
            yield from self._store(statement, statement.operands[0], statement.operands[1])
        elif is_copy(statement) and self._kind(copied(statement)[0]):
            yield from self._copy(statement)
            yield statement
        elif statement.opcode == "wgmma":
            yield statement
            if "wait_group" in statement.modifiers:
                yield from (self._restart(statement, name) for name in self._pending)
        elif is_arithmetic(statement) or conversion(statement) is not None:
            yield from self._arithmetic(statement)
        else:
            yield statement
            known = [name for name in effects.sets(statement) if name in self._kinds]
            yield from (self._restart(statement, name) for name in known)
            if not known and self._packs(statement):
                yield self._shadow(statement, ("lost", statement.mnemonic), ())

    def _packs(self, instruction: Instruction) -> bool:
        """Whether the result is packed floats, which have no shadow: halves side by side, or sums of a matrix."""
        words = (instruction.opcode, *instruction.modifiers)
        if words[0] == "mov":
            parts = [part for item in instruction.operands[1:] if isinstance(item, Vector) for part in item.elements]
            return any(map(self._kind, parts))
        if words[0] == "cvt" or words[0] in OPERATIONS:
            return not _PACKED.isdisjoint(words)
        return "mma" in words[:2] and bool(float_types(instruction))

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def _arithmetic(self, instruction: Instruction) -> Iterator[Statement]:
        target, *sources = instruction.operands
        kind = self._kind(target)
        both = conversion(instruction)
        is_integral = not _INTEGER_ROUNDINGS.isdisjoint(instruction.modifiers) or self._is_magic(instruction)
        if kind is None or not isinstance(target, Register):
            yield instruction
        elif is_integral:
            yield instruction
            yield self._value(instruction, target.name)
        else:
            kept: dict[Operand, Operand] = {}
            if target in sources:
                kept[target] = yield from self._keep(instruction, target)
            yield instruction
            source_kind = both[1] if both else kind
            read = tuple(self._source(item, kept.get(item, item), source_kind) for item in sources)
            words: tuple[str, ...] = ("convert", *both) if both else (instruction.opcode, kind)
            words += tuple(word for word in ("sat", "relu") if word in instruction.modifiers)
            yield self._shadow(instruction, words, (self._of(target.name), target, *read))

    def _is_magic(self, instruction: Instruction) -> bool:
        """Whether an instruction rounds to an integer by the addition of a large constant."""
        if instruction.opcode not in ("add", "sub", "fma"):
            return False
        addends = instruction.operands[3:] if instruction.opcode == "fma" else instruction.operands[1:]
        limit = _MAGIC[float_types(instruction)[0]]
        return any(isinstance(item, Float) and limit <= abs(_number(item)) <= 4 * limit for item in addends)

    def _source(self, operand: Operand, original: Operand, kind: str) -> Operand:
        """A source as {shadow, value}, or the operand where it has no shadow."""
        if isinstance(operand, Register) and self._kinds.get(operand.name) == kind:
            return Vector((*shadow_of(operand.name, kind), original))
        return original

    def _keep(self, instruction: Instruction, register: Register) -> Generator[Statement, None, Register]:
        """Copy a register that an instruction overwrites; return the copy."""
        kind = self._kinds.get(register.name)
        width = BITS[kind] if kind else 64
        copy = Register(f"{register.name}$before")
        self._declared[copy.name] = RegisterDeclaration(copy.name, f"b{width}")
        yield replace(instruction, opcode="mov", modifiers=(f"b{width}",), operands=(copy, register))
        return copy

    # --- copies -------------------------------------------------------------------------------------------------------

    def _copy(self, instruction: Instruction) -> Iterator[Statement]:
        """The same copy of the shadow; built before the instruction, which may overwrite its source."""
        target, *sources = copied(instruction)
        assert isinstance(target, Register)
        kind = self._kinds[target.name]
        if instruction.opcode == "shfl":
            yield from self._shuffle(instruction, target, sources[0])
            return
        for number, part in enumerate(shadow_of(target.name, kind)):
            parts: list[Operand] = []
            for item in sources:
                if isinstance(item, Register) and self._kinds.get(item.name) == kind:
                    parts.append(shadow_of(item.name, kind)[number])
                else:
                    parts.append((yield from self._constant(instruction, kind, item, number)))
            rest = instruction.operands[3:] if instruction.opcode == "selp" else ()
            yield replace(instruction, modifiers=("f64",), operands=(part, *parts, *rest))

    def _constant(
        self, instruction: Instruction, kind: str, item: Operand, number: int
    ) -> Generator[Statement, None, Register]:
        """A part of the shadow of an operand that has none, in a register of its own."""
        parts = shadow_of("%constant", kind)
        self._declared |= {part.name: RegisterDeclaration(part.name, "f64") for part in parts}
        yield self._shadow(instruction, ("value", kind), (Vector(parts), item))
        return parts[number]

    def _shuffle(self, instruction: Instruction, target: Register, source: Operand) -> Iterator[Statement]:
        """Two shuffles of 32 bits for each part."""
        kind = self._kinds[target.name]
        known = isinstance(source, Register) and source.name in self._kinds
        halves = (Register("%half$0"), Register("%half$1"))
        self._declared |= {one.name: RegisterDeclaration(one.name, "b32") for one in halves}
        for number, part in enumerate(shadow_of(target.name, kind)):
            if known and isinstance(source, Register):
                given = shadow_of(source.name, kind)[number]
            else:
                given = yield from self._constant(instruction, kind, source, number)
            pair = Vector(halves)
            yield replace(instruction, opcode="mov", modifiers=("b64",), operands=(pair, given))
            for half in halves:
                yield replace(instruction, operands=(half, half, *instruction.operands[2:]))
            yield replace(instruction, opcode="mov", modifiers=("b64",), operands=(part, pair))

    # --- memory -------------------------------------------------------------------------------------------------------

    def _load(self, instruction: Instruction) -> Iterator[Statement]:
        loaded = elements(instruction.operands[0])
        kinds = [self._kind_of(item, type_of(instruction)) for item in loaded]
        address = instruction.operands[1]
        if not any(kinds):
            yield instruction
            return
        if self._is_kernel_parameter(address):
            yield instruction
            yield from (self._value(instruction, item.name) for item in loaded if isinstance(item, Register))
            return
        if isinstance(address, Address) and address.base in loaded and isinstance(address.base, Register):
            address = Address((yield from self._keep(instruction, address.base)), address.offset)
        yield instruction
        yield self._read(instruction, address, loaded, kinds)

    def _read(
        self, instruction: Instruction, address: Operand, loaded: tuple[Operand, ...], kinds: list[str | None]
    ) -> Instruction:
        shadows = self._flat(loaded, kinds)
        words = ("ld", ",".join(kind or "-" for kind in kinds), *instruction.modifiers)
        return self._shadow(instruction, words, (shadows, address, Vector(loaded)))

    def _store(self, instruction: Instruction, address: Operand, source: Operand) -> Iterator[Statement]:
        stored = elements(source)
        kinds = [self._kind_of(item, type_of(instruction)) for item in stored]
        if any(kinds):
            words = ("st", ",".join(kind or "-" for kind in kinds), *instruction.modifiers)
            yield self._shadow(instruction, words, (address, self._flat(stored, kinds), Vector(stored)))

    def _flat(self, registers: tuple[Operand, ...], kinds: list[str | None]) -> Vector:
        pairs = zip(registers, kinds, strict=True)
        return Vector(
            tuple(
                part for one, kind in pairs if kind and isinstance(one, Register) for part in shadow_of(one.name, kind)
            )
        )

    def _is_kernel_parameter(self, address: Operand) -> bool:
        named = isinstance(address, Address) and isinstance(address.base, Symbol)
        names = {item.name for item in self._function.parameters} if self._function.is_entry else set()
        return named and address.base.name in names  # type: ignore[union-attr]

    # --- atomic operations --------------------------------------------------------------------------------------------

    def _is_followed(self, instruction: Instruction) -> bool:
        """Whether the shadow of memory follows an atomic operation: additions of floats, exchanges, swaps."""
        if lanes(instruction) > 1 or "async" in instruction.modifiers or "noftz" in instruction.modifiers:
            return False
        types = float_types(instruction)
        if "add" in instruction.modifiers:
            return types in (["f32"], ["f64"])
        source = instruction.operands[-1]
        return bool({"exch", "cas"} & set(instruction.modifiers)) and self._kind(source) is not None

    def _atomic(self, instruction: Instruction) -> Iterator[Statement]:
        """The shadow that memory had, and the one that it has then."""
        at = 0 if instruction.opcode == "red" else 1
        target, address, source = instruction.operands[0], instruction.operands[at], instruction.operands[-1]
        kind = self._kind(source) or type_of(instruction)
        old, new = Register(f"%old${kind}"), Register(f"%new${kind}")
        given = Register(f"%given${kind}")
        for one in (old, new, given):
            self._kinds[one.name] = kind
            names = (one, *shadow_of(one.name, kind))
            types = (f"b{BITS[kind]}", "f64", "f64")
            self._declared |= {
                name.name: RegisterDeclaration(name.name, type_) for name, type_ in zip(names, types, strict=False)
            }
        plain = replace(instruction, opcode="mov", modifiers=(f"b{BITS[kind]}",), operands=(given, source))
        yield from self._statement(plain)
        compared = [item for item in instruction.operands[at + 1 : -1] if item == target and isinstance(item, Register)]
        kept = (yield from self._keep(instruction, compared[0])) if compared else None
        operands = tuple(
            kept if kept is not None and item in compared else item for item in instruction.operands[at + 1 :]
        )
        yield replace(instruction, opcode="atom", operands=(old, address, *operands))
        access = replace(instruction, opcode="ld", modifiers=self._place(instruction, kind))
        yield self._read(access, address, (old,), [kind])
        guard = instruction.guard
        if "add" in instruction.modifiers:
            added = replace(instruction, opcode="add", modifiers=("rn", kind), operands=(new, old, given))
            yield from self._statement(added)
        else:
            yield from self._statement(replace(plain, operands=(new, given)))
        if "cas" in instruction.modifiers:
            equal = Register("%swapped")
            self._declared[equal.name] = RegisterDeclaration(equal.name, "pred")
            words = ("eq", f"u{BITS[kind]}")
            yield replace(instruction, opcode="setp", modifiers=words, operands=(equal, old, operands[0]))
            guard = Guard(equal.name, negated=False) if guard is None else None
        if guard is not None or instruction.guard is None:
            stored = replace(access, opcode="st", guard=guard)
            yield from self._store(stored, address, new)
        if at and not isinstance(target, Sink):
            yield from self._statement(replace(plain, operands=(target, old)))

    def _place(self, instruction: Instruction, kind: str) -> tuple[str, ...]:
        spaces = tuple(word for word in instruction.modifiers if word.partition("::")[0] in ("global", "shared"))
        return (*spaces, kind)

    # --- registers ----------------------------------------------------------------------------------------------------

    def _kind(self, operand: Operand) -> str | None:
        return self._kinds.get(operand.name) if isinstance(operand, Register) else None

    def _kind_of(self, operand: Operand, type_name: str) -> str | None:
        """The kind of an element in memory, where it is as wide as the register."""
        kind = self._kind(operand)
        return kind if kind is not None and BITS[kind] == BITS[type_name] else None

    def _of(self, name: str) -> Vector:
        return Vector(shadow_of(name, self._kinds[name]))

    def _value(self, instruction: Instruction, name: str) -> Instruction:
        """The shadow of a register is its own value."""
        return self._shadow(instruction, ("value", self._kinds[name]), (self._of(name), Register(name)))

    def _restart(self, instruction: Instruction, name: str) -> Instruction:
        """The same, and it is told where arithmetic on floats has lost its shadow so."""
        silent = instruction.opcode in _SILENT and not any(
            isinstance(item, Vector | Pair) for item in instruction.operands
        )
        words: tuple[str, ...] = ("value",) if silent else ("restart",)
        words += (self._kinds[name], instruction.mnemonic)
        return self._shadow(instruction, words, (self._of(name), Register(name)))

    def _shadow(self, instruction: Instruction, words: tuple[str, ...], operands: tuple[Operand, ...]) -> Instruction:
        return replace(instruction, opcode="%shadow", modifiers=words, operands=operands)


def _number(item: Float) -> float:
    form = "<f" if item.width == BITS["f32"] else "<d"
    return float(struct.unpack(form, item.bits.to_bytes(item.width // 8, "little"))[0])
