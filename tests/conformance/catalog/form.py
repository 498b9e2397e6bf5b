"""What a catalogued form of an instruction is."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Form:
    """An instruction in one form.

    Attributes:
        name: the mnemonic, unique in the catalog.
        text: PTX, one instruction a line.
        inputs: register → its type, in order.
        outputs: register → its type, in order.
        scratch: register → its type.
        whole: it needs all threads of a block.
        cluster: blocks of a cluster, along x; 0: the kernel asks for none.
    """

    name: str
    text: str
    inputs: dict[str, str]
    outputs: dict[str, str]
    scratch: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    cluster: int = 0


def form(mnemonic: str, result: str, *operands: str) -> Form:
    """A form of one instruction with one result.

    Args:
        mnemonic: as PTX writes it.
        result: the type of `%d`.
        operands: the types of the sources; `=VALUE` stands for a constant, and makes part of the name.
    """
    names = iter(("%a", "%b", "%c", "%q"))
    inputs: dict[str, str] = {}
    written = []
    for operand in operands:
        if operand.startswith("="):
            written.append(operand[1:])
            continue
        register = next(names)
        inputs[register] = operand
        written.append(register)
    constants = [word for word in written if not word.startswith("%")]
    name = f"{mnemonic} ({', '.join(constants)})" if constants else mnemonic
    return Form(name, f"{mnemonic} {', '.join(('%d', *written))}", inputs, {"%d": result})
