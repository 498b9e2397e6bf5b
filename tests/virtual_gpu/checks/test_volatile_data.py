"""Which volatile shared variables are data, and which are flags."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.checks.program_facts import volatile_data
from gpuregress.virtual_gpu.ptx.parser import parse

WRITE = "mov.u32 %a, box; st.volatile.shared.u32 [%a+4], %x;"
READ = "ld.volatile.shared.u32 %x, [box];"
POLL = "AGAIN: ld.volatile.shared.u32 %x, [box]; setp.eq.u32 %p, %x, 0; @%p bra AGAIN;"
TURNS = "AGAIN: atom.global.cas.b32 %a, [%g], 0, 1; setp.ne.u32 %p, %a, 0;"


def _data(body: str) -> frozenset[str]:
    module = parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 box[8];\n.shared .align 4 .b8 other[8];\n"
        ".visible .entry k(.param .u64 y) { .reg .b32 %a; .reg .b32 %x; .reg .b64 %g; .reg .pred %p; "
        f"ld.param.u64 %g, [y]; {body} ret; }}"
    )
    return volatile_data(module.functions, [item.name for item in module.variables])


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (WRITE + READ, {"box"}),
        ("st.shared.u32 [box], %x;", set()),
        (WRITE + POLL, set()),
        (f"{TURNS}{WRITE}{READ}@%p bra AGAIN;", {"box"}),
        (WRITE + "atom.shared.add.u32 %x, [other], 1;", {"box"}),
        (WRITE + "atom.shared.exch.b32 %x, [box], 1;", set()),
        (WRITE + "ld.acquire.cta.shared.u32 %x, [box];", set()),
        (WRITE + "atom.add.u32 %x, [%g], 1;", set()),
        (WRITE + "atom.global.add.u32 %x, [%g], 1;", {"box"}),
    ],
    ids=[
        "data",
        "plain",
        "polled",
        "in a loop of a lock",
        "atomic elsewhere",
        "atomic",
        "acquired",
        "a flag anywhere",
        "a global flag",
    ],
)
def test_a_volatile_shared_variable_is_data_unless_it_may_be_a_flag(body: str, data: set[str]) -> None:
    assert _data(body) == data
