"""Mutants of PTX: every operator at every instruction of the launched kernels."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from gpuregress.gpu.records import replace
from gpuregress.lab.mutating import mutants
from gpuregress.lab.mutating.mutants import Edit, Mutant, by_name
from gpuregress.lab.mutating.ptx_text import Operand, PtxInstruction, PtxText, trap_before

_PURE = frozenset(
    re.findall(
        r"\w+",
        """
        abs add and bfe bfi bfind brev clz copysign cos cvt cvta div dp2a dp4a ex2 fma ld ldu lg2 lop3 mad mad24 match
        max min mov mul mul24 neg not or popc prmt rcp redux rem rsqrt sad selp set setp shf shfl shl shr sin slct
        sqrt sub szext tanh vote xor
        """,
    )
)
"""Opcodes that do nothing but compute their first operand, so that they can be executed twice."""
_REGISTER = re.compile(r"%[\w$]+")
_SIZED = re.compile(r"[bsuf](?:16|32|64)")


def trap_where_different(
    ptx: PtxText, instruction: PtxInstruction, edits: Sequence[Edit], *, is_guard_dropped: bool
) -> tuple[Edit, ...]:
    """Return the edits that trap where a changed instruction has another effect than the original one.

    Args:
        ptx: the module.
        instruction: the original one.
        edits: the change.
        is_guard_dropped: whether it is executed without its guard, or, for a branch, never taken.

    Returns:
        () where the effects cannot be compared: what is written to memory, a barrier.
    """
    if is_guard_dropped and instruction.words[0] == "bra":
        return (trap_before(instruction),)  # it is not taken any more, and so differs where it was
    compared = _compared(ptx, instruction, edits)
    if compared or not is_guard_dropped:
        return compared
    return (Edit(instruction.start, instruction.start, f"@{_negated(instruction.guard)} trap;\n\t"),)


def _negated(guard: str) -> str:
    if guard.startswith("!"):
        return guard.removeprefix("!")
    return f"!{guard}"


def _compared(ptx: PtxText, instruction: PtxInstruction, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Compute the result with the change and without, and trap where any bit differs."""
    if instruction.words[0] not in _PURE or "cc" in instruction.words or not instruction.operands:
        return ()
    registers = dict.fromkeys(_REGISTER.findall(instruction.operands[0].text))
    types = [ptx.register_types.get(_family(name), "") for name in registers]
    if not registers or not all(kind == "pred" or _SIZED.fullmatch(kind) for kind in types):
        return ()
    end = max(instruction.end, *(edit.end for edit in edits))
    original = ptx.text[instruction.start : end]
    start = instruction.start
    changed = mutants.apply(original, [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits])
    saved = []
    restored = []
    checked = []
    for number, (name, kind) in enumerate(zip(registers, types, strict=True)):
        before, was = f"%before{number}", f"%was{number}"
        saved.append(f".reg .{kind} {before}, {was}; mov.{kind} {before}, {name};")
        restored.append(f"mov.{kind} {was}, {name}; mov.{kind} {name}, {before};")
        compare = "xor.pred" if kind == "pred" else f"setp.ne.b{kind[1:]}"
        checked.append(f"{compare} %other, {was}, {name}; @%other trap;")
    parts = ("{ .reg .pred %other;", *saved, original, *restored, changed, *checked, "}")
    return (Edit(instruction.start, end, " ".join(parts)),)


def _family(register: str) -> str:
    """Return the name of a register without its number, as `%r<9>` declares it."""
    return register.rstrip("0123456789")


Operator = Callable[[PtxText, PtxInstruction], Iterator[tuple[Edit, ...]]]

_STRICT = {"lt": "le", "gt": "ge", "lo": "ls", "hi": "hs", "ltu": "leu", "gtu": "geu"}
_BOUNDARY = {**_STRICT, **{inclusive: strict for strict, inclusive in _STRICT.items()}}
_BARRIERS = re.compile(
    r"(?:bar|barrier)(?:\.cta|\.warp|\.cluster)?\.(?:sync|arrive|wait)\b.*|membar\b.*|fence\b.*"
    r"|cp\.async\.(?:bulk\.)?wait_\w+\b.*|wgmma\.(?:fence|wait_group)\b.*"
)
_SWAPPED = {"%tid": "%ctaid", "%ctaid": "%tid"}
_NUMBERED = (
    "mov",
    "add",
    "sub",
    "mul",
    "mad",
    "setp",
    "selp",
    "shl",
    "shr",
    "and",
    "or",
    "fma",
    "min",
    "max",
    "div",
    "rem",
)
_REMOVED = "/* removed */"
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?")
_LARGEST = (2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
"""Integers that may be the largest of their type."""
_FLOAT = re.compile(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}")
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
_ATOMIC = {"add": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor", "exch": ""}
_ROUNDED = {"f32": ".rn", "f64": ".rn"}
"""Float type → the rounding with which an addition stays one of its own."""
_MASKS = {"shfl": 5, "vote": 2, "redux": 2, "match": 2}
"""The position of the mask among the operands."""
_SIGN_MATTERS = ("setp", "shr", "div", "rem", "min", "max", "mad", "mul", "cvt", "atom", "red")


def boundary(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`setp.lt` becomes `setp.le`."""
    words = instruction.words
    if words[0] in ("setp", "set") and words[1] in _BOUNDARY:
        yield (_opcode(instruction, ".".join((words[0], _BOUNDARY[words[1]], *words[2:]))),)


def barrier_removed(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`bar.sync 0;` goes."""
    if _BARRIERS.fullmatch(instruction.opcode):
        yield (Edit(instruction.start, instruction.end, _REMOVED),)


def index_off_by_one(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`ld.global.f32 %f1, [%rd1]` reads at `[%rd1+4]`."""
    size = _SIZES.get(re.sub(r"\D", "", instruction.type), 0)
    if instruction.words[0] not in ("ld", "st", "atom", "red") or "param" in instruction.words or not size:
        return
    for word in instruction.words:
        if word in ("v2", "v4", "v8"):
            size *= int(word[1:])
    for operand in instruction.operands:
        match = re.fullmatch(r"\[\s*([^\]+]+?)\s*(?:\+\s*(-?\d+))?\s*\]", operand.text)
        if match is not None:
            yield (_operand(operand, f"[{match[1]}+{int(match[2] or 0) + size}]"),)


def thread_block_swapped(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`%tid.x` becomes `%ctaid.x`, and the other way round."""
    for operand in instruction.operands:
        name, dot, axis = operand.text.partition(".")
        if name in _SWAPPED and dot:
            yield (_operand(operand, f"{_SWAPPED[name]}.{axis}"),)


def plus_minus(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`add` becomes `sub`, and the other way round."""
    words = instruction.words
    other = {"add": "sub", "sub": "add"}.get(words[0])
    if other and "cc" not in words:
        yield (_opcode(instruction, ".".join((other, *words[1:]))),)


def constant(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """An integer operand plus one; a float's with the next exponent, zero as one, infinity as zero."""
    if instruction.words[0] not in _NUMBERED:
        return
    for operand in instruction.operands[1:]:
        if _INTEGER.fullmatch(operand.text):
            yield (_operand(operand, _next_integer(operand.text)),)
        elif _FLOAT.fullmatch(operand.text):
            yield (_operand(operand, _next_exponent(operand.text)),)


def _next_integer(text: str) -> str:
    digits = text.removesuffix("U")
    magnitude = digits.lstrip("-")
    is_octal = len(magnitude) > 1 and magnitude.isdigit() and magnitude[0] == "0"
    number = int(digits, 8 if is_octal else 0)
    number += -1 if number in _LARGEST else 1
    return f"{number}{text[len(digits) :]}"


def _next_exponent(text: str) -> str:
    form = ">f" if text[1] in "fF" else ">d"
    (number,) = struct.unpack(form, bytes.fromhex(text[2:]))
    other = 0.0
    if math.isfinite(number):
        other = number * 2 or 1.0
    try:
        data = struct.pack(form, other)
    except OverflowError:
        data = struct.pack(form, 1.0)
    return text[:2] + data.hex().upper()


def atomic_plain(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`atom.global.add` becomes a load, an addition and a store."""
    words = instruction.words
    operations = [word for word in words if word in _ATOMIC]
    if words[0] not in ("atom", "red") or not operations or {"v2", "v4", "noftz"} & {*words}:
        return
    *results, address, value = (operand.text for operand in instruction.operands)
    if words[0] == "red" and results:
        return
    if "shared::cluster" in words:  # an address of another block, which a plain access cannot have
        return
    spaces = [f".{word}" for word in words if word in ("global", "shared", "shared::cta")]
    space = spaces[0] if spaces else ""
    kind = instruction.type
    opcode = _ATOMIC[operations[0]]
    computed = f"mov.b{kind[1:]} %was_new, {value};"
    if opcode:
        computed = f"{opcode}{_ROUNDED.get(kind, '')}.{kind} %was_new, %was, {value};"
    body = f"ld{space}.{kind} %was, {address}; {computed} st{space}.{kind} {address}, %was_new;"
    if results and results[0] != "_":
        body += f" mov.b{kind[1:]} {results[0]}, %was;"
    if instruction.guard:  # a guard cannot stand before a block
        body = f"@{_negated(instruction.guard)} bra $was_end; {body} $was_end:"
    yield (Edit(instruction.start, instruction.end, f"{{ .reg .{kind} %was, %was_new; {body} }}"),)


def guard_dropped(ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`@%p1 st` loses its guard; `@%p1 bra` forward is never taken."""
    if not instruction.guard:
        return
    if instruction.words[0] != "bra":
        yield (Edit(instruction.start, instruction.opcode_at, ""),)
    elif instruction.operands and ptx.label_at(instruction.operands[0].text, instruction.end) >= 0:
        yield (Edit(instruction.start, instruction.end, _REMOVED),)


def double_float(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """The result of an operation on doubles is rounded to float."""
    if (
        instruction.type == "f64"
        and instruction.words[0] in ("add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp")
        and not instruction.guard
    ):
        result = instruction.operands[0].text
        rounded = f" {{ .reg .f32 %single; cvt.rn.f32.f64 %single, {result}; cvt.f64.f32 {result}, %single; }}"
        yield (Edit(instruction.end, instruction.end, rounded),)


def transposed(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`mad.lo d, a, b, c` becomes `mad.lo d, c, b, a`."""
    if instruction.opcode.startswith("mad.lo.") and len(instruction.operands) == 4:
        _, first, _, last = instruction.operands
        if first.text != last.text:
            yield (_operand(first, last.text), _operand(last, first.text))


def mask_narrowed(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """The mask of `shfl.sync` leaves out the upper half of the warp."""
    if instruction.opcode.startswith("bar.warp.sync") and instruction.operands:
        yield (_operand(instruction.operands[0], "65535"),)
    elif "sync" in instruction.words and instruction.words[0] in _MASKS and instruction.operands:
        mask = instruction.operands[-1]
        has_mask = len(instruction.operands) >= _MASKS[instruction.words[0]] or instruction.words[0] == "shfl"
        if has_mask and mask.text != "65535":
            yield (_operand(mask, "65535"),)


def unsigned_signed(_ptx: PtxText, instruction: PtxInstruction) -> Iterator[tuple[Edit, ...]]:
    """`.u32` becomes `.s32` where the sign matters."""
    words = list(instruction.words)
    if words[0] in ("ld", "ldu"):  # a narrow load fills the register with its sign
        if words[-1] in ("u8", "u16"):
            yield (_opcode(instruction, ".".join((*words[:-1], f"s{words[-1][1:]}"))),)
        return
    if words[0] == "setp" and words[1] in ("eq", "ne"):
        return
    if words[0] in ("atom", "red") and not {"min", "max"} & {*words}:
        return
    if words[0] not in _SIGN_MATTERS or not {"u16", "u32", "u64"} & {*words[1:]}:
        return
    if words[0] in ("mul", "mad") and "lo" in words:
        return
    if words[0] == "cvt" and not words[-1].startswith("u"):
        return
    changed = [f"s{word[1:]}" if word in ("u16", "u32", "u64") else word for word in words]
    if words[0] == "setp":
        names = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
        changed = [names.get(word, word) for word in changed]
    yield (_opcode(instruction, ".".join(changed)),)


def _opcode(instruction: PtxInstruction, text: str) -> Edit:
    return Edit(instruction.opcode_at, instruction.opcode_at + len(instruction.opcode), text)


def _operand(operand: Operand, text: str) -> Edit:
    return Edit(operand.start, operand.end, text)


TABLE: Mapping[str, Operator] = by_name(
    boundary,
    barrier_removed,
    index_off_by_one,
    thread_block_swapped,
    plus_minus,
    constant,
    atomic_plain,
    guard_dropped,
    double_float,
    transposed,
    mask_narrowed,
    unsigned_signed,
)
"""`shared-array-small` is of declarations: `small_arrays`."""


def find_mutants(text: str, name: str, entries: Collection[str]) -> list[Mutant]:
    """List the mutants of a PTX module, in the order of its lines.

    Args:
        text: of the module.
        name: that stands for it.
        entries: the mangled names of the launched kernels.
    """
    ptx = PtxText(text)
    found = [*_of_instructions(ptx, name, entries), *small_arrays(ptx, name, entries)]
    return sorted(found, key=lambda mutant: (mutant.edits[0].start, mutant.operator))


def _of_instructions(ptx: PtxText, name: str, entries: Collection[str]) -> Iterator[Mutant]:
    """Change the copies of an instruction together: those that an unrolled loop or a tile makes of one expression.

    One mistake in the source would be in all of them. Barriers are the compiler's own, and each has its purpose.
    """
    copies: dict[object, list[Mutant]] = {}
    for instruction in ptx.instructions(entries):
        for operator, changes in TABLE.items():
            origin: str | int = instruction.start
            if instruction.expression and operator not in mutants.RACING:
                origin = instruction.expression
            for number, edits in enumerate(changes(ptx, instruction)):
                alike = copies.setdefault((operator, number, origin, instruction.shape), [])
                alike.append(_mutant(ptx, name, instruction, operator, edits))
    for alike in copies.values():
        yield mutants.together(alike)


def _mutant(ptx: PtxText, name: str, instruction: PtxInstruction, operator: str, edits: tuple[Edit, ...]) -> Mutant:
    is_guard_dropped = operator == "guard-dropped"
    trap = trap_before(instruction)
    if is_guard_dropped and instruction.words[0] != "bra":  # it is always executed
        trap = Edit(instruction.start, instruction.start, "trap;\n\t")
    mutant = mutants.of_edits(
        operator, name, ptx.text, edits, probes=((trap,),), shown=(instruction.start, instruction.end)
    )
    infection = trap_where_different(ptx, instruction, edits, is_guard_dropped=is_guard_dropped)
    return replace(mutant, infection=infection)


def small_arrays(ptx: PtxText, name: str, entries: Collection[str]) -> Iterator[Mutant]:
    """Yield mutants whose shared array has one element less; of an array of bytes, four."""
    for match in ptx.shared_arrays(entries):
        size = int(match["size"])
        less = 4 if match["type"] in ("b8", "u8", "s8") else 1
        if size > less:
            edit = Edit(*match.span("size"), str(size - less))
            yield mutants.of_edits("shared-array-small", name, ptx.text, (edit,), shown=match.span())
