"""Pass that adds shadow values of higher precision to a module."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

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
_TYPED_BY_FIRST = frozenset(["ld", "st", "atom", "red", "mov", "selp", "mma", "wgmma", "wmma"])
"""Opcodes whose first floating-point type is that of all elements."""


def float_types(instruction: Instruction) -> list[str]:
    """The floating-point types among the modifiers."""
    return [word for word in instruction.modifiers if word in FLOATS]


def is_arithmetic(instruction: Instruction) -> bool:
    """Whether an instruction is floating-point arithmetic that has a shadow."""
    types = float_types(instruction)
    if instruction.opcode not in OPERATIONS or len(types) != 1 or types[0] not in DIGITS:
        return False
    if "xorsign" in instruction.modifiers or len(instruction.operands) != _operand_count(instruction.opcode):
        return False
    return types[0] != "f64" or instruction.opcode not in NARROW_ONLY


def _operand_count(opcode: str) -> int:
    if opcode in ("fma", "mad"):
        return 4
    if opcode in ("add", "sub", "mul", "div", "min", "max", "copysign"):
        return 3
    return 2


def conversion(instruction: Instruction) -> tuple[str, str] | None:
    """The kinds of the result and the source of a conversion between floats; None for another instruction."""
    types = float_types(instruction)
    if instruction.opcode != "cvt" or len(instruction.operands) != len(types):
        return None
    match types:
        case [result, source] if result in DIGITS and source in DIGITS:
            return result, source
        case _:
            return None


def is_copy(instruction: Instruction) -> bool:
    """Whether an instruction copies registers as they are."""
    if instruction.opcode == "mov":
        return all(isinstance(item, Register) for item in instruction.operands)
    return instruction.opcode in ("selp", "shfl")


def copied(instruction: Instruction) -> tuple[Operand, ...]:
    """The result of a copy, and the operands that it may be a copy of."""
    target, *sources = instruction.operands
    if isinstance(target, Pair):
        target = target.first
    if instruction.opcode == "selp":
        return target, sources[0], sources[1]
    return target, sources[0]


def find_kinds(function: Function) -> Kinds:
    """The kinds of the registers of a function that have a shadow, by register."""
    widths = {item.name: BITS[item.type] for item in function.registers if item.lanes == 1 and item.type in BITS}
    body = function.instructions
    kinds: Kinds = {}
    for item in body:
        for name, kind in _used_as_floats(item):
            if widths.get(name) == BITS[kind]:
                kinds.setdefault(name, kind)
    copies = [_register_names(copied(item)) for item in body if is_copy(item)]
    _spread(kinds, copies, widths)
    loaded, stored = _moved(body, "ld", 0), _moved(body, "st", 1)
    for name in (loaded & stored) - set(kinds):
        if widths.get(name) in _MOVES_OF_BITS:
            kinds[name] = _MOVES_OF_BITS[widths[name]]
    _spread(kinds, copies, widths)
    return kinds


def _register_names(operands: Iterable[Operand]) -> list[str]:
    return [item.name for item in operands if isinstance(item, Register)]


def _used_as_floats(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """The registers that an instruction itself uses as floats, with their kinds."""
    if instruction.opcode == "cvt":
        types = conversion(instruction) or [word for word in instruction.modifiers if word in BITS][-2:]
        for operand, kind in zip(instruction.operands[:2], types, strict=False):
            if isinstance(operand, Register) and kind in DIGITS:
                yield operand.name, kind
        return
    floats = float_types(instruction)
    if not floats or floats[0] not in DIGITS:
        return
    if is_arithmetic(instruction):
        operands = instruction.operands
    elif instruction.opcode in _TYPED_BY_FIRST:
        operands = _flattened(instruction.operands)
    else:
        return
    for name in _register_names(operands):
        yield name, floats[0]


def _flattened(operands: Iterable[Operand]) -> tuple[Operand, ...]:
    return tuple(item for operand in operands for item in elements(operand))


def _spread(kinds: Kinds, copies: list[list[str]], widths: dict[str, int]) -> None:
    """Give copies the kind of what they are copies of."""
    changed = True
    while changed:
        changed = False
        for names in copies:
            known = [kinds[name] for name in names if name in kinds]
            if not known:
                continue
            for name in names:
                if name not in kinds and widths.get(name) == BITS[known[0]]:
                    kinds[name] = known[0]
                    changed = True


def _moved(body: list[Instruction], opcode: str, position: int) -> set[str]:
    """The registers that loads or stores move, by the position of the operand."""
    accesses = [item for item in body if item.opcode == opcode and type_of(item) in BITS]
    return set(_register_names(_flattened(item.operands[position] for item in accesses)))


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
    functions = list(module.functions)
    for position, function in enumerate(functions):
        if function.body:
            functions[position] = _Inserter(function).function()
    return replace(module, functions=tuple(functions))


class _Inserter:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._kinds: Kinds = find_kinds(function)
        self._declared: dict[str, RegisterDeclaration] = {}
        for name, kind in self._kinds.items():
            self._declare(shadow_of(name, kind), "f64")
        self._pending = self._asynchronous()

    def _declare(self, registers: Iterable[Register], type_name: str) -> None:
        for register in registers:
            self._declared[register.name] = RegisterDeclaration(register.name, type_name)

    def function(self) -> Function:
        """The function with its shadows."""
        body: list[Statement] = []
        for statement in self._function.statements:
            body += self._statement(statement)
        registers = (*self._function.registers, *self._declared.values())
        return replace(self._function, body=tuple(body), registers=registers)

    def _asynchronous(self) -> tuple[str, ...]:
        """The registers that asynchronous matrix instructions set, which are read after their wait only."""
        names: dict[str, None] = {}
        for item in self._function.instructions:
            if item.opcode == "wgmma":
                names |= dict.fromkeys(self._followed(item))
        return tuple(names)

    def _followed(self, statement: Statement) -> list[str]:
        """The registers with a shadow that a statement sets."""
        return [name for name in effects.sets(statement) if name in self._kinds]

    def _statement(self, statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, Label):
            yield statement
        elif isinstance(statement, Call):
            yield statement
            call = Instruction("call", (), (), source=statement.source)
            for name in self._followed(statement):
                yield self._restart(call, name)
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
            names = self._followed(statement)
            yield from (self._restart(statement, name) for name in names)
            if not names and self._packs(statement):
                yield self._shadow(statement, ("lost", statement.mnemonic), ())

    def _packs(self, instruction: Instruction) -> bool:
        """Whether the result is packed floats, which have no shadow: halves side by side, or sums of a matrix."""
        words = (instruction.opcode, *instruction.modifiers)
        if words[0] == "mov":
            vectors = [item for item in instruction.operands[1:] if isinstance(item, Vector)]
            return any(self._kind(part) for part in _flattened(vectors))
        if words[0] == "cvt" or words[0] in OPERATIONS:
            return not _PACKED.isdisjoint(words)
        return "mma" in words[:2] and bool(float_types(instruction))

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def _arithmetic(self, instruction: Instruction) -> Iterator[Statement]:
        target, *sources = instruction.operands
        kind = self._kind(target)
        is_integral = not _INTEGER_ROUNDINGS.isdisjoint(instruction.modifiers) or self._is_magic(instruction)
        if kind is None or not isinstance(target, Register):
            yield instruction
            return
        if is_integral:
            yield instruction
            yield self._value(instruction, target.name)
            return
        copies: dict[Operand, Operand] = {}
        if target in sources:
            copies[target] = yield from self._keep(instruction, target)
        yield instruction
        types = conversion(instruction)
        if types is not None:
            words = ["convert", *types]
            kind = types[1]
        else:
            words = [instruction.opcode, kind]
        words += [word for word in ("sat", "relu") if word in instruction.modifiers]
        read = [self._source(item, copies.get(item, item), kind) for item in sources]
        yield self._shadow(instruction, tuple(words), (self._of(target.name), target, *read))

    def _is_magic(self, instruction: Instruction) -> bool:
        """Whether an instruction rounds to an integer by the addition of a large constant."""
        if instruction.opcode not in ("add", "sub", "fma"):
            return False
        addends = instruction.operands[3:] if instruction.opcode == "fma" else instruction.operands[1:]
        limit = _MAGIC[float_types(instruction)[0]]
        return any(isinstance(item, Float) and limit <= abs(item.value) <= 4 * limit for item in addends)

    def _source(self, operand: Operand, original: Operand, kind: str) -> Operand:
        """A source as {shadow, value}, or the operand where it has no shadow."""
        if isinstance(operand, Register) and self._kinds.get(operand.name) == kind:
            return Vector((*shadow_of(operand.name, kind), original))
        return original

    def _keep(self, instruction: Instruction, register: Register) -> Generator[Statement, None, Register]:
        """Copy a register that an instruction overwrites; return the copy."""
        kind = self._kinds.get(register.name)
        type_name = f"b{BITS[kind]}" if kind else "b64"
        copy = Register(f"{register.name}$before")
        self._declare([copy], type_name)
        yield replace(instruction, opcode="mov", modifiers=(type_name,), operands=(copy, register))
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
            operands: list[Operand] = [part]
            for item in sources:
                if isinstance(item, Register) and self._kinds.get(item.name) == kind:
                    operands.append(shadow_of(item.name, kind)[number])
                else:
                    operands.append((yield from self._constant(instruction, kind, item, number)))
            if instruction.opcode == "selp":
                operands += instruction.operands[3:]
            yield replace(instruction, modifiers=("f64",), operands=tuple(operands))

    def _constant(
        self, instruction: Instruction, kind: str, item: Operand, number: int
    ) -> Generator[Statement, None, Register]:
        """A part of the shadow of an operand that has none, in a register of its own."""
        parts = shadow_of("%constant", kind)
        self._declare(parts, "f64")
        yield self._shadow(instruction, ("value", kind), (Vector(parts), item))
        return parts[number]

    def _shuffle(self, instruction: Instruction, target: Register, source: Operand) -> Iterator[Statement]:
        """Two shuffles of 32 bits for each part."""
        kind = self._kinds[target.name]
        halves = (Register("%half$0"), Register("%half$1"))
        self._declare(halves, "b32")
        for number, part in enumerate(shadow_of(target.name, kind)):
            if isinstance(source, Register) and source.name in self._kinds:
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
            yield from (self._value(instruction, name) for name in _register_names(loaded))
            return
        if isinstance(address, Address) and address.base in loaded and isinstance(address.base, Register):
            address = Address((yield from self._keep(instruction, address.base)), address.offset)
        yield instruction
        yield self._read(instruction, address, loaded, kinds)

    def _read(
        self, instruction: Instruction, address: Operand, loaded: tuple[Operand, ...], kinds: list[str | None]
    ) -> Instruction:
        operands = (self._shadows(loaded, kinds), address, Vector(loaded))
        return self._shadow(instruction, self._access_words("ld", instruction, kinds), operands)

    def _store(self, instruction: Instruction, address: Operand, source: Operand) -> Iterator[Statement]:
        stored = elements(source)
        kinds = [self._kind_of(item, type_of(instruction)) for item in stored]
        if any(kinds):
            operands = (address, self._shadows(stored, kinds), Vector(stored))
            yield self._shadow(instruction, self._access_words("st", instruction, kinds), operands)

    @staticmethod
    def _access_words(opcode: str, instruction: Instruction, kinds: list[str | None]) -> tuple[str, ...]:
        return (opcode, ",".join(kind or "-" for kind in kinds), *instruction.modifiers)

    @staticmethod
    def _shadows(registers: tuple[Operand, ...], kinds: list[str | None]) -> Vector:
        parts: list[Operand] = []
        for register, kind in zip(registers, kinds, strict=True):
            if kind and isinstance(register, Register):
                parts += shadow_of(register.name, kind)
        return Vector(tuple(parts))

    def _is_kernel_parameter(self, address: Operand) -> bool:
        if not self._function.is_entry or not isinstance(address, Address) or not isinstance(address.base, Symbol):
            return False
        return any(item.name == address.base.name for item in self._function.parameters)

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
        has_result = instruction.opcode != "red"
        target, source = instruction.operands[0], instruction.operands[-1]
        address, *values = instruction.operands[1:] if has_result else instruction.operands
        kind = self._kind(source) or type_of(instruction)
        bits = f"b{BITS[kind]}"
        old, new, given = Register(f"%old${kind}"), Register(f"%new${kind}"), Register(f"%given${kind}")
        for register in (old, new, given):
            self._kinds[register.name] = kind
            self._declare([register], bits)
            self._declare(shadow_of(register.name, kind), "f64")
        plain = replace(instruction, opcode="mov", modifiers=(bits,), operands=(given, source))
        yield from self._statement(plain)
        if isinstance(target, Register) and target in values[:-1]:
            # The compared value: the swap overwrites it.
            copy = yield from self._keep(instruction, target)
            values = [copy if item == target else item for item in values]
        yield replace(instruction, opcode="atom", operands=(old, address, *values))
        spaces = [word for word in instruction.modifiers if word.partition("::")[0] in ("global", "shared")]
        access = replace(instruction, opcode="ld", modifiers=(*spaces, kind))
        yield self._read(access, address, (old,), [kind])
        guard = instruction.guard
        if "add" in instruction.modifiers:
            added = replace(instruction, opcode="add", modifiers=("rn", kind), operands=(new, old, given))
            yield from self._statement(added)
        else:
            yield from self._statement(replace(plain, operands=(new, given)))
        if "cas" in instruction.modifiers:
            equal = Register("%swapped")
            self._declare([equal], "pred")
            words = ("eq", f"u{BITS[kind]}")
            yield replace(instruction, opcode="setp", modifiers=words, operands=(equal, old, values[0]))
            guard = Guard(equal.name, negated=False) if guard is None else None
        if guard is not None or instruction.guard is None:
            stored = replace(access, opcode="st", guard=guard)
            yield from self._store(stored, address, new)
        if has_result and not isinstance(target, Sink):
            yield from self._statement(replace(plain, operands=(target, old)))

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
        has_parts = any(isinstance(item, Vector | Pair) for item in instruction.operands)
        is_silent = instruction.opcode in _SILENT and not has_parts
        words = ("value" if is_silent else "restart", self._kinds[name], instruction.mnemonic)
        return self._shadow(instruction, words, (self._of(name), Register(name)))

    @staticmethod
    def _shadow(instruction: Instruction, words: tuple[str, ...], operands: tuple[Operand, ...]) -> Instruction:
        return replace(instruction, opcode="%shadow", modifiers=words, operands=operands)
