"""The checklist of PTX's instructions for docs/reference/cpu-instructions.md, made of the tables that lower them.

python -m tests.conformance.catalog.checklist             prints it
python -m tests.conformance.catalog.checklist --write     puts it into that page (in a checkout)
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from gpuregress.virtual_gpu.isa.memory import stack
from gpuregress.virtual_gpu.ptx.opcode_table import OPCODES
from tests.conformance.catalog import computing, machine

BEGIN, END = "<!-- checklist: begin -->", "<!-- checklist: end -->"
DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "cpu-instructions.md"

# PTX ISA manual 8.7, chapter 9.7: every instruction by its first word, section by section.
SECTIONS = {
    "Integers": (
        "abs add bfe bfi bfind bmsk brev clz div dp2a dp4a fns mad mad24 max min mul mul24 neg popc rem sad sub szext"
    ),
    "Carries": "addc subc madc",
    "Floating point": "copysign cos ex2 fma lg2 rcp rsqrt sin sqrt tanh testp",
    "Comparison and selection": "selp set setp slct",
    "Logic and shifts": "and cnot lop3 not or shf shl shr xor",
    "Data": (
        "applypriority createpolicy cvt cvta discard getctarank isspacep ld ldu mapa mov prefetch prefetchu prmt shfl "
        "st"
    ),
    "Asynchronous copies": "cp multimem tensormap",
    "Textures and surfaces": "istypep suld suq sured sust tex tld4 txq",
    "Control": "bra brx call exit ret",
    "Synchronisation": ("activemask atom bar barrier elect fence griddepcontrol match mbarrier membar red redux vote"),
    "Matrices": "ldmatrix mma movmatrix stmatrix tcgen05 wgmma wmma",
    "Stack": "alloca stackrestore stacksave",
    "Video": (
        "vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 "
        "vset vset2 vset4 vshl vshr vsub vsub2 vsub4"
    ),
    "Other": "brkpt nanosleep pmevent setmaxnreg trap",
}

REMARKS = {
    "alloca": "8,192 bytes a call of a function",
    "activemask": "the lanes that are converged there, as many as possible",
    "atom": "one thread after the other",
    "call": "direct, through pointers, variadic (not through pointers), vprintf, malloc, free, __assertfail",
    "cp": "async, async.bulk, reduce.async.bulk, tensors of 1 to 5 axes, tile and im2col; they arrive when waited for",
    "fence": "threads take turns: nothing to do",
    "griddepcontrol": "nothing to do: grids follow each other",
    "ldmatrix": "m8n8 of b16",
    "membar": "threads take turns: nothing to do",
    "mma": "dense, and sparse of floats; not single bits",
    "nanosleep": "lets the other threads go on",
    "redux": "integers",
    "setmaxnreg": "nothing to do",
    "shfl": "the .sync forms",
    "st": "async: to another block's shared memory",
    "stmatrix": "m8n8 of b16",
    "suld": "b, in 1d, 2d, 3d, layers",
    "suq": "width, height, depth",
    "sust": "b, in 1d, 2d, 3d, layers",
    "tex": "1d, 2d, 3d, layers, cubes; no mipmap",
    "tld4": "2d, no offsets",
    "txq": "width, height, depth",
    "vote": "the .sync forms",
    "wgmma": "done at once; a read of the result before its wait is a fault",
    "wmma": "elements of eight bits and more",
}


def lowered() -> set[str]:
    """The opcodes that a family of `isa` lowers, but for the compiler's own, which begin with `%`."""
    own = {opcode for opcode in OPCODES if opcode.startswith("%")}
    return {opcode for opcode, forms in OPCODES.items() if any(info.family for info in forms.values())} - own


def states() -> dict[str, str]:
    """Every instruction → `done` or `not`."""
    there = {*lowered(), *stack.OPCODES, "call"}
    return {opcode: "done" if opcode in there else "not" for words in SECTIONS.values() for opcode in words.split()}


def forms_asked() -> Counter[str]:
    """How many forms of each instruction the conformance suite runs."""
    found: Counter[str] = Counter()
    every = [form for family in computing.FAMILIES for form in computing.forms(family)]
    every += [form for family in machine.FAMILIES for form in machine.forms(family)]
    for form in every:
        found[form.name.split(".")[0].split(" ")[0]] += 1
    return found


def markdown() -> str:
    """The checklist as Markdown."""
    state, asked = states(), forms_asked()
    counts = Counter(state.values())
    totals = ", ".join(f"{counts[state]} {state}" for state in ("done", "not"))
    lines = [f"Instructions: {totals}. Forms in the conformance suite: {sum(asked.values())}."]
    for section, words in SECTIONS.items():
        lines += ["", f"**{section}**", "", "| instruction | state | forms | remarks |", "|---|---|---|---|"]
        for opcode in words.split():
            remark = REMARKS.get(opcode, "") if state[opcode] != "not" else ""
            lines.append(f"| `{opcode}` | {state[opcode]} | {asked.get(opcode, '')} | {remark} |")
    return "\n".join(lines) + "\n"


def placed(document: str) -> str:
    """A document with the checklist between its marks."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{markdown()}{END}{after}"


def main(arguments: list[str]) -> int:
    """The command line; see the module's docstring."""
    if arguments == ["--write"]:
        DOCUMENT.write_text(placed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
