"""PTX → LLVM IR, kept in NAME.ll. To write them anew: `python -m tests.devices.cpu.golden.record`; read the diff."""

from __future__ import annotations

import re
from pathlib import Path

from gpuregress.virtual_gpu.compilation.translate import entries, translate
from gpuregress.virtual_gpu.ptx.parser import parse

FOLDER = Path(__file__).parent
NAMES = ("scale", "turn")


def body(name: str) -> str:
    """The kernel's own function: the wrapper around it depends on the processor."""
    tree = parse((FOLDER / f"{name}.ptx").read_text())
    unit, _ = translate(tree, entries(tree))
    actual = re.search(r"define internal i32 @.kernel_0\.body..*?\n}\n", str(unit.module), re.DOTALL)
    assert actual is not None
    return actual.group()


if __name__ == "__main__":
    for each in NAMES:
        (FOLDER / f"{each}.ll").write_text(body(each))
