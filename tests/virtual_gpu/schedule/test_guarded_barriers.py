"""Guarded barriers: only aligned ones become branches, and both senses of the guard are kept."""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis.divergent_barriers import with_branches_around_barriers
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction

_HEAD = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { .reg .pred %p<3>; .reg .b32 %r<3>; "


def _kernel(body: str) -> Function:
    return parse(f"{_HEAD}{body} ret; }}").functions[0]


def _written(function: Function) -> list[str]:
    body = function.body or ()
    guards = [item.guard for item in body]
    marks = ["" if guard is None else f"@{'!' if guard.negated else ''}{guard.register} " for guard in guards]
    return [
        f"{mark}{item.mnemonic}" if isinstance(item, Instruction) else "label"
        for mark, item in zip(marks, body, strict=True)
    ]


def test_a_guard_becomes_the_opposite_branch() -> None:
    found = with_branches_around_barriers(_kernel("@%p1 bar.sync 0; @!%p2 bar.red.popc.u32 %r1, 0, %p1;"))
    assert _written(found) == ["@!%p1 bra", "bar.sync", "label", "@%p2 bra", "bar.red.popc.u32", "label", "ret"]


def test_others_stay() -> None:
    for body in ("bar.sync 0;", "@%p1 barrier.sync 0;", "@%p1 bar.warp.sync 1;", "@%p1 mov.u32 %r1, 1;"):
        kernel = _kernel(body)
        assert with_branches_around_barriers(kernel) is kernel
