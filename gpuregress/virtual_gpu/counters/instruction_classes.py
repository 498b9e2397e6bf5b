"""Classes of PTX instructions by the unit that executes them."""

from __future__ import annotations

from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction

_SPECIAL = frozenset(["sin", "cos", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh"])
_MOVES = frozenset(["mov", "cvta", "selp", "prmt", "mapa"])


def instruction_class(statement: Instruction | Call) -> str:
    """The class of an instruction.

    Returns:
        `integer`, `float`, `double`, `half`, `sfu`, `tensor`, `conversion`, `move`, `predicate`, `control`, `barrier`,
        `warp`, `texture`, `other`, or a memory class: `load.global`, `store.shared`, `atomic.global`, `copy`, ….
    """
    if isinstance(statement, Call):
        return "control"
    facts, opcode = info(statement), statement.opcode
    if facts.family.startswith("matrix."):
        is_product = "mma" in (opcode, *statement.modifiers[:1]) or "mma_async" in statement.modifiers
        return "tensor" if is_product else "barrier" if opcode == "wgmma" else _memory(statement)
    if facts.family.startswith("texture."):
        return "texture"
    if opcode == "bar" and statement.modifiers[:1] == ("warp",):
        return "warp"
    if opcode in ("bar", "barrier", "mbarrier", "fence", "membar") or facts.wait in (Wait.BLOCK, Wait.CLUSTER):
        return "barrier"
    if facts.family.startswith("warp."):
        return "warp"
    if facts.memory is not MemoryEffect.NONE:
        return _memory(statement)
    if facts.control is not Control.NEXT:
        return "control"
    if opcode == "cvt":
        return "conversion"
    if opcode in _MOVES:
        return "move"
    if statement.modifiers[-1:] == ("pred",):
        return "predicate"
    return _arithmetic(statement)


def _memory(statement: Instruction) -> str:
    effect = info(statement).memory
    space = space_of(statement) or "generic"
    if effect is MemoryEffect.COPY:
        return "copy"
    if effect is MemoryEffect.UPDATE:
        return f"atomic.{space}"
    if effect is MemoryEffect.NONE:
        return "warp"
    return f"{'store' if effect is MemoryEffect.WRITE else 'load'}.{space}"


def _arithmetic(statement: Instruction) -> str:
    if statement.opcode in _SPECIAL:
        return "sfu"
    words = statement.modifiers
    type_name = words[-1] if words else ""
    if statement.opcode in ("setp", "set") and words:
        type_name = next((word for word in reversed(words) if word[:1] in "usfb" and word[1:2].isdigit()), type_name)
    if type_name == "f64":
        return "double"
    if type_name.startswith(("f16", "bf16")):
        return "half"
    if type_name.startswith("f"):
        return "float"
    return "integer" if type_name[:1] in ("u", "s", "b") else "other"
