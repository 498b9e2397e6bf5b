"""Instrumentation of PTX: each access to global memory notes the bytes that it reads or writes.

Before an access `ld.global.v2.f32 {…}, [%rd1+8]` a function is called with the address, the number of bytes and the
kind. It looks for the address among the regions of a table, and sets a byte of the region's map for each four bytes of
the access. The table is a variable of the module, which the launch's host fills.
"""

from __future__ import annotations

import re

from gpuregress.foundation.errors import UnsupportedError
from gpuregress.toolchain import ptx_declarations

TABLE = "gpuregress_regions"
"""The table: for each region its address, its size, and the addresses of the maps of reads and of writes."""
GRANULE = 4
"""Bytes of memory for which a map has one byte."""

_FUNCTION = "gpuregress_note"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STATEMENT = re.compile(
    r"(?P<guard>@!?[%\w$]+\s+)?\b(?P<opcode>(?:ld|ldu|st|atom|red|cp)\.[\w.:]+)\s+(?P<operands>[^;]*);"
)
_ADDRESS = re.compile(r"\[\s*(?P<base>[%\w$]+)\s*(?:\+\s*(?P<offset>-?\w+)\s*)?(?:,[^\]]*)?\]")
_OTHER_SPACES = re.compile(r"\.(?:shared|local|param|const)\b")
_WIDTH = re.compile(r"\.[busf]f?(\d+)(?:x(\d))?(?:\.|$)")
_UNKNOWN = re.compile(
    r"\b(wmma\.(?:load|store)(?![\w.]*\.shared)\S*|cp\.(?:reduce\.)?async\.bulk\S*|multimem\.\S*|tex\.\S*|tld4\.\S*|su(?:ld|st|red)\.\S*)"
)
_VARIABLE = re.compile(
    r"^\s*(?:\.(?:visible|weak|common|extern)\s+)*\.(?:global|const|shared)\b[^;={(]*?([\w$]+)\s*(?:\[[^;={]*)?[;=]",
    re.MULTILINE,
)
_HEAD = re.compile(r"^\s*\.address_size\s+64\s*$", re.MULTILINE)


def instrument(ptx: str, kernel: str, regions: int) -> str:
    """Return a module whose accesses are noted.

    Args:
        ptx: a whole module.
        kernel: mangled name of the one that is launched; what others access need not be noted.
        regions: the number of rows of the table.

    Raises:
        UnsupportedError: an access cannot be noted.
    """
    text = _COMMENT.sub(" ", ptx)
    unknown = _UNKNOWN.search(ptx_declarations.reachable_code(ptx, kernel))
    if unknown:
        raise UnsupportedError(f"what {unknown[1]} accesses cannot be noted")
    head = _HEAD.search(text)
    if head is None:
        raise UnsupportedError("it is not 64-bit PTX")
    variables = {match[1] for match in _VARIABLE.finditer(text)}
    body = _STATEMENT.sub(lambda match: _noted(match, variables), text[head.end() :])
    return f"{text[: head.end()]}\n{_support(regions)}\n{body}"


def _noted(match: re.Match[str], variables: set[str]) -> str:
    opcode, guard = match["opcode"], match["guard"] or ""
    if opcode.startswith("cp."):
        return _noted_copy(match, variables)
    if _OTHER_SPACES.search(opcode):
        return match[0]
    address = _ADDRESS.search(match["operands"])
    if address is None or address["base"] in variables:
        return match[0]
    kind = 1 if opcode.startswith(("ld.", "ldu.")) else 2 if opcode.startswith("st.") else 3
    return f"{_call(guard, address, _bytes(opcode), kind)}\n{match[0]}"


def _noted_copy(match: re.Match[str], variables: set[str]) -> str:
    """`cp.async.ca.shared.global [a], [b], 16;` reads its second address."""
    addresses = list(_ADDRESS.finditer(match["operands"]))
    if len(addresses) < 2 or ".global" not in match["opcode"] or addresses[1]["base"] in variables:
        return match[0]
    size = re.match(r"\s*,\s*(\d+)", match["operands"][addresses[1].end() :])
    return f"{_call(match['guard'] or '', addresses[1], int(size[1]) if size else 16, 1)}\n{match[0]}"


def _bytes(opcode: str) -> int:
    width = _WIDTH.search(opcode)
    lanes = re.search(r"\.v(\d)\b", opcode)
    if width is None:
        raise UnsupportedError(f"what {opcode} accesses cannot be noted")
    return int(width[1]) * int(width[2] or 1) // 8 * (int(lanes[1]) if lanes else 1)


def _call(guard: str, address: re.Match[str], size: int, kind: int) -> str:
    return (
        "{ .reg .b64 %gpuregress_at; .param .b64 gpuregress_a; .param .b32 gpuregress_b; .param .b32 gpuregress_c;\n"
        f"add.s64 %gpuregress_at, {address['base']}, {address['offset'] or 0};\n"
        "st.param.b64 [gpuregress_a], %gpuregress_at;\n"
        f"st.param.b32 [gpuregress_b], {size};\nst.param.b32 [gpuregress_c], {kind};\n"
        f"{guard}call {_FUNCTION}, (gpuregress_a, gpuregress_b, gpuregress_c); }}"
    )


def _support(regions: int) -> str:
    """The table and the function."""
    looks = "\n".join(_look(number) for number in range(regions))
    return f""".visible .global .align 8 .b64 {TABLE}[{4 * max(1, regions)}];
.func {_FUNCTION}(.param .b64 a, .param .b32 b, .param .b32 c)
{{
.reg .b64 %a<12>; .reg .b32 %k<4>; .reg .pred %p<6>; .reg .b16 %one;
ld.param.b64 %a0, [a]; ld.param.b32 %k0, [b]; ld.param.b32 %k1, [c];
cvt.u64.u32 %a1, %k0;
mov.b16 %one, 1;
and.b32 %k2, %k1, 1; setp.ne.b32 %p1, %k2, 0;
and.b32 %k2, %k1, 2; setp.ne.b32 %p2, %k2, 0;
{looks}
ret;
}}"""


def _look(number: int) -> str:
    at = 32 * number
    return f"""ld.global.u64 %a2, [{TABLE}+{at}]; ld.global.u64 %a3, [{TABLE}+{at + 8}];
ld.global.u64 %a4, [{TABLE}+{at + 16}]; ld.global.u64 %a5, [{TABLE}+{at + 24}];
sub.u64 %a6, %a0, %a2; setp.ge.u64 %p0, %a6, %a3; @%p0 bra L{number}_end;
add.u64 %a7, %a6, %a1; sub.u64 %a7, %a7, 1; shr.u64 %a6, %a6, 2; shr.u64 %a7, %a7, 2;
L{number}_next:
add.u64 %a8, %a4, %a6; add.u64 %a9, %a5, %a6;
@%p1 st.global.u8 [%a8], %one; @%p2 st.global.u8 [%a9], %one;
add.u64 %a6, %a6, 1; setp.le.u64 %p3, %a6, %a7; @%p3 bra L{number}_next;
L{number}_end:"""
