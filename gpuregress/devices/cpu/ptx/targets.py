"""Table of the architectures that forms of PTX instructions need.

Opcodes that no older architecture has are marked in `opcodes`; here are modifiers, types and special registers. The
rules were compared with nvJitLink 13.5 for every form of the conformance catalog.

PTX ISA manual, "Target ISA Notes".
"""

from __future__ import annotations

import re

from gpuregress.devices.cpu.ptx.opcode_table import info
from gpuregress.devices.cpu.ptx.tree import Instruction

_FORMS = {
    "sm_100": r"^(ld|st)\b.*\.(v8\.[busf]32|v4\.[busf]64)|^(add|sub|mul|fma)\b.*f32x2",
    "sm_90": r"::cluster|\.cluster(\.|$)|^(st|red)\.async|^cp\.(reduce\.)?async\.bulk"
    r"|^fence\.(proxy\.async|mbarrier_init)|\.oob\b"
    r"|^mbarrier\.(try_wait|expect_tx|complete_tx|arrive\.expect_tx)|^(atom|red)\b.*(\.v[248]\b|bf16|b128)"
    r"|^(add|sub|mul|setp?|ex2|tanh)\b.*bf16|^(add|min|max)\.[us]16x2|^(min|max)\.s32\.relu"
    r"|^cvt\b.*\.(bf16\.(?!f32)\w+|(?!f32)\w+\.bf16)$|^cvt\.r[nz]\b.*\.tf32|^mma\b.*\.m16n8k\d+\b.*f64",
    "sm_89": r"e4m3|e5m2",
    "sm_86": r"\.xorsign",
    "sm_80": r"bf16|tf32|\.NaN|\.relu|L2::cache_hint|L2::256B"
    r"|^prefetch\b.*evict|^(min|max)\b.*f16|^cvt\b.*\.f16x2\.f32|^w?mma\b.*f64|\.and\.popc"
    r"|^mma\b.*\.m16n8k(16|32|64|128|256)\b",
}
"""Architecture → mnemonics that need it."""
_PATTERNS = {target: re.compile(pattern) for target, pattern in _FORMS.items()}
_REGISTERS = {
    "sm_90": re.compile(r"%(n?cluster|is_explicit_cluster|aggr_smem_size)"),
    "sm_80": re.compile(r"%reserved_smem_offset"),
}


def number(target: str) -> int:
    """The number of an architecture: 90 of `sm_90a`; 0 where it has none."""
    match = re.match(r"sm_(\d+)", target)
    return int(match[1]) if match else 0


def supports(target: str, needed: str) -> bool:
    """Whether code for `target` may use what `needed` introduced; `sm_90a` stands for itself alone."""
    return target == needed if needed[-1].isalpha() else number(target) >= number(needed)


def needed_target(instruction: Instruction, registers: tuple[str, ...]) -> str:
    """The first architecture that has an instruction; "" where all have it.

    Args:
        instruction: any.
        registers: the names of the registers that it reads.
    """
    mnemonic = instruction.mnemonic
    needed = [info(instruction).since]
    needed += [target for target, pattern in _PATTERNS.items() if pattern.search(mnemonic)]
    needed += [target for target, pattern in _REGISTERS.items() if any(map(pattern.match, registers))]
    return max(needed, key=number)
