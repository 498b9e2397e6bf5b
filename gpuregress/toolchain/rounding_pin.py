"""Rounding pin: float `add`, `sub` and `mul` without a rounding modifier get `.rn`.

The PTX ISA (9.7.3, "add") lets ptxas contract a multiplication and an addition without a rounding modifier into one
fma, and treats an explicit modifier conservatively. Without one the default is already `.rn`, so the pin changes no
meaning; it only takes the freedom away. Explicit modifiers and `fma` stay as they are.
"""

from __future__ import annotations

import re

# add{.rnd}{.ftz}{.sat}.f32 | {.rnd}{.ftz}.f32x2 | {.rnd}.f64 | {.rnd}{.ftz}{.sat}.f16{x2} | {.rnd}.bf16{x2} |
# {.rnd}{.sat}.f32.{f16,bf16}: `.rn` is legal for each, right after the opcode. Nothing else in PTX is spelt so
# outside comments and strings; `atom.add.f32` and `red.add.f32` have a dot before the word.
_TOKENS = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | "(?:[^"\\\n]|\\.)*"
      | (?<![\w.$%]) (?P<opcode>add|sub|mul) (?P<rest>(?:\.ftz|\.sat)*\.(?:f32x2|f32|f64|f16x2|f16|bf16x2|bf16))
        (?![\w$])""",
    re.VERBOSE | re.DOTALL,
)


def pin(ptx: str) -> str:
    """Give every float add, sub and mul a rounding modifier, so that ptxas may not contract them.

    Args:
        ptx: a whole PTX module, or any part of one that does not begin inside a comment.
    """
    return _TOKENS.sub(_pinned, ptx)


def _pinned(match: re.Match[str]) -> str:
    if match["opcode"] is None:
        return match[0]
    return f"{match['opcode']}.rn{match['rest']}"
