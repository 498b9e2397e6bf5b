"""Warp shuffles, votes and reductions: shfl, vote, match, redux, activemask, elect.

A lane posts its value and waits; the scheduler releases a group of lanes together; each then computes its own result
from the posted values. Lanes that have exited are not waited for, as the manual defines.

PTX ISA manual, 9.7.9.6 and 9.7.13.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.lane_mailbox import from_lane, post, received
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, Cell, convert, counted, i32, i64
from gpuregress.virtual_gpu.builder.threads import CONVERGE, WARP, YIELD, lane
from gpuregress.virtual_gpu.ptx.modifiers import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand, Pair, Sink

_SHFL, _VOTE, _MATCH, _REDUX, _ELECT = range(16, 96, 16)
_SHUFFLES = ("idx", "up", "down", "bfly")
_VOTES = ("ballot", "any", "all", "uni")


def _results(operand: Operand) -> tuple[Operand, Operand]:
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())


def _word(instruction: Instruction, words: tuple[str, ...]) -> str:
    for word in words:
        if word in instruction.modifiers:
            return word
    raise unsupported(instruction)


def _shfl(emitter: Services, instruction: Instruction) -> None:
    if "sync" not in instruction.modifiers:
        raise unsupported(instruction, "only the .sync form is")
    mode = _word(instruction, _SHUFFLES)
    target, value, by, clamp, mask = instruction.operands
    posted = emitter.builder.zext(emitter.read(value, "b32"), I64)
    post(emitter, _SHFL + _SHUFFLES.index(mode), emitter.read(mask, "b32"), posted)
    emitter.wait(WARP)
    source, inside = _source_lane(emitter, mode, emitter.read(by, "b32"), emitter.read(clamp, "b32"))
    b = emitter.builder
    _count_inactive(emitter, source)
    result, predicate = _results(target)
    emitter.write(result, b.trunc(from_lane(emitter, source), I32), "b32")
    emitter.write(predicate, inside, "pred")


def _source_lane(emitter: Services, mode: str, by: ir.Value, clamp: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The source lane of a shuffle and whether it is in range, by the manual's pseudocode."""
    b = emitter.builder
    own = lane(b, emitter.view, emitter.thread)
    bound, segment = b.and_(clamp, i32(31)), b.and_(b.lshr(clamp, i32(8)), i32(31))
    by = b.and_(by, i32(31))
    most = b.or_(b.and_(own, segment), b.and_(bound, b.not_(segment)))
    least = b.and_(own, segment)
    source = {
        "up": lambda: b.sub(own, by),
        "down": lambda: b.add(own, by),
        "bfly": lambda: b.xor(own, by),
        "idx": lambda: b.or_(least, b.and_(by, b.not_(segment))),
    }[mode]()
    inside = b.icmp_signed(">=" if mode == "up" else "<=", source, most)
    return b.select(inside, source, own), inside


def _count_inactive(emitter: Services, source: ir.Value) -> None:
    """Count reads of inactive lanes, whose value is undefined on hardware."""
    b = emitter.builder
    group = received(emitter, "group")
    missing = b.xor(b.and_(b.lshr(group, source), i32(1)), i32(1))
    machine = emitter.view.machine
    total = b.add(field(b, machine, "inactive_reads"), b.zext(missing, I64))
    set_field(b, machine, "inactive_reads", total)


def _vote(emitter: Services, instruction: Instruction) -> None:
    if "sync" not in instruction.modifiers:
        raise unsupported(instruction, "only the .sync form is")
    mode = _word(instruction, _VOTES)
    target, predicate, mask = instruction.operands
    posted = emitter.builder.zext(emitter.read(predicate, "pred"), I64)
    post(emitter, _VOTE + _VOTES.index(mode), emitter.read(mask, "b32"), posted)
    emitter.wait(WARP)
    b = emitter.builder
    group, ballot = received(emitter, "group"), received(emitter, "ballot")
    if mode == "ballot":
        emitter.write(target, ballot, "b32")
        return
    everyone, someone = b.icmp_unsigned("==", ballot, group), b.icmp_unsigned("!=", ballot, i32(0))
    answers = {"all": everyone, "any": someone, "uni": b.or_(everyone, b.not_(someone))}
    emitter.write(target, answers[mode], "pred")


def _match(emitter: Services, instruction: Instruction) -> None:
    mode = _word(instruction, ("any", "all"))
    type_name = instruction.modifiers[-1]
    target, value, mask = instruction.operands
    bits = emitter.read(value, type_name)
    posted = convert(emitter.builder, bits, I64)
    operation = _MATCH + 2 * (mode == "all") + (type_name == "b64")
    post(emitter, operation, emitter.read(mask, "b32"), posted)
    emitter.wait(WARP)
    equal = _equal_lanes(emitter)
    b = emitter.builder
    result, predicate = _results(target)
    if mode == "any":
        emitter.write(result, equal, "b32")
        return
    group = received(emitter, "group")
    everyone = b.icmp_unsigned("==", equal, group)
    emitter.write(result, b.select(everyone, group, i32(0)), "b32")
    emitter.write(predicate, everyone, "pred")


def _equal_lanes(emitter: Services) -> ir.Value:
    b = emitter.builder
    group = received(emitter, "group")
    own = from_lane(emitter, lane(b, emitter.view, emitter.thread))
    equal = Cell(b, i32(0))
    with counted(b, i32(32)) as other:
        inside = b.trunc(b.lshr(group, other), I1)
        with b.if_then(inside):
            same = b.icmp_unsigned("==", from_lane(emitter, other), own)
            equal.set_bits(b.select(same, b.shl(i32(1), other), i32(0)))
    return equal.get()


def _redux(emitter: Services, instruction: Instruction) -> None:
    mode = _word(instruction, ("add", "min", "max", "and", "or", "xor"))
    type_name = instruction.modifiers[-1]
    if type_name == "f32":
        raise unsupported(instruction, "only the integer forms are")
    target, value, mask = instruction.operands
    posted = emitter.builder.zext(emitter.read(value, "b32"), I64)
    operation = _REDUX + 2 * ("add", "min", "max", "and", "or", "xor").index(mode) + (type_name == "s32")
    post(emitter, operation, emitter.read(mask, "b32"), posted)
    emitter.wait(WARP)
    emitter.write(target, _reduce(emitter, mode, signed=type_name == "s32"), "b32")


def _reduce(emitter: Services, mode: str, *, signed: bool) -> ir.Value:
    b = emitter.builder
    group = received(emitter, "group")
    first = b.cttz(group, ir.Constant(I1, 1))
    total = Cell(b, b.trunc(from_lane(emitter, first), I32))
    with counted(b, i32(32)) as other:
        beyond = b.icmp_unsigned(">", other, first)
        with b.if_then(b.and_(beyond, b.trunc(b.lshr(group, other), I1))):
            total.set(_combine(b, mode, total.get(), b.trunc(from_lane(emitter, other), I32), signed=signed))
    return total.get()


def _combine(b: ir.IRBuilder, mode: str, left: ir.Value, right: ir.Value, *, signed: bool) -> ir.Value:
    if mode in ("min", "max"):
        compare = b.icmp_signed if signed else b.icmp_unsigned
        return b.select(compare("<" if mode == "min" else ">", left, right), left, right)
    operations = {"add": b.add, "and": b.and_, "or": b.or_, "xor": b.xor}
    return operations[mode](left, right)


def _activemask(emitter: Services, instruction: Instruction) -> None:
    emitter.exits.store(emitter, "post", i64(0))
    emitter.wait(CONVERGE)
    emitter.write(instruction.operands[0], received(emitter, "group"), "b32")


def _elect(emitter: Services, instruction: Instruction) -> None:
    target, mask = instruction.operands
    post(emitter, _ELECT, emitter.read(mask, "b32"), i64(0))
    emitter.wait(WARP)
    b = emitter.builder
    leader = b.cttz(received(emitter, "group"), ir.Constant(I1, 1))
    result, predicate = _results(target)
    emitter.write(result, leader, "b32")
    emitter.write(predicate, b.icmp_unsigned("==", leader, lane(b, emitter.view, emitter.thread)), "pred")


def _nanosleep(emitter: Services, instruction: Instruction) -> None:
    del instruction
    emitter.wait(YIELD)


TABLE = {
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "activemask": _activemask,
    "elect": _elect,
    "nanosleep": _nanosleep,
}
