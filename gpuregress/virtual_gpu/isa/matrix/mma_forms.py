"""Forms of mma and wgmma that PTX has: shapes, types and constants.

Compilers pass inline PTX on as it is, and only a card's assembler refuses what is not there.
PTX ISA manual, 9.7.14.5, 9.7.14.6 and 9.7.15.
"""

from __future__ import annotations

from collections.abc import Sequence

_HALF, _EIGHT, _FOUR = ("f16", "bf16"), ("e4m3", "e5m2"), ("s4", "u4")
_DENSE = {
    **dict.fromkeys(_HALF, "m16n8k8 m16n8k16"), **dict.fromkeys(_EIGHT, "m16n8k16 m16n8k32"),
    **dict.fromkeys(("s8", "u8"), "m8n8k16 m16n8k16 m16n8k32"), **dict.fromkeys(_FOUR, "m8n8k32 m16n8k32 m16n8k64"),
    "tf32": "m16n8k4 m16n8k8", "f64": "m8n8k4 m16n8k4 m16n8k8 m16n8k16",
}  # fmt: skip
_SPARSE = {
    **dict.fromkeys(_HALF, "m16n8k16 m16n8k32"), **dict.fromkeys(_EIGHT, "m16n8k64"), "tf32": "m16n8k8 m16n8k16",
}  # fmt: skip
_RESULTS = {
    "f16": "f16 f32", "bf16": "f32", "tf32": "f32", "e4m3": "f16 f32", "e5m2": "f16 f32", "f64": "f64",
    "s8": "s32", "u8": "s32", "s4": "s32", "u4": "s32", "b1": "s32",
}  # fmt: skip
"""Type of A → those of D."""
_MIXED = (_EIGHT, ("s8", "u8"), _FOUR)
"""Types that A and B may have at once."""
_METADATA = 16
"""Chunks of a row of A whose metadata the four lanes, or pairs of lanes, hold."""


def types_error(result: str, a: str, b: str) -> str:
    """Return what is wrong with the types of a product; "" if nothing is."""
    known = _RESULTS.get(a, "").split()
    if a != b and not any(a in mixed and b in mixed for mixed in _MIXED):
        return f"there is no product of {a} and {b}"
    return "" if result in known else f"a product of {a} has a result of {' or '.join(known) or 'no type'}"


def mma_error(words: Sequence[str], shape: str, types: Sequence[str], counts: Sequence[int]) -> str:
    """Return what is wrong with an mma; "" if nothing is.

    Args:
        words: the modifiers.
        shape: `m16n8k16`, …
        types: of D, A, B and C.
        counts: registers of D, A, B and C.
    """
    d, a, b, c = types
    is_sparse = words[0].startswith("sp")
    if shape not in (_SPARSE if is_sparse else _DENSE).get(a, "").split():
        return "this shape is not there"
    if wrong := types_error(d, a, b):
        return wrong
    if c != d:
        return f"C is {c}, and D {d}"
    if [word for word in words if word in ("row", "col")] != ["row", "col"]:
        return "A is row and B col in this shape"
    if "satfinite" in words and d != "s32":
        return "satfinite is for integers"
    rows, depth = (int(number) for number in shape[1:].split("n8k"))
    bits = 64 if a == "f64" else 32 if a == "tf32" else 16 if a in _HALF else 4 if a in _FOUR else 8
    register = max(32, bits)
    sums = rows // 8 if d == "f16" else rows // 4
    held = depth // 2 if is_sparse else depth
    wanted = [sums, rows * held * bits // (32 * register), 8 * depth * bits // (32 * register), sums]
    return "" if [*counts] == wanted else "the vectors of registers have other sizes"


def selector_error(selector: int, chunks: int) -> str:
    """Return what is wrong with the sparsity selector; "" if nothing is."""
    most = _METADATA // chunks - 1
    return "" if 0 <= selector <= most else f"the sparsity selector is {selector}, and at most {most} here"
