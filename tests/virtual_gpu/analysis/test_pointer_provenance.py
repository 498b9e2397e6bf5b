from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.pointers import PointerProvenance, Provenance
from gpuregress.virtual_gpu.ptx.tree import Register, Symbol
from tests.virtual_gpu.analysis.kernels import PARAMETERS, kernel

_LOADS = "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; "


def _provenance(body: str) -> PointerProvenance:
    return PointerProvenance(kernel(body).body or (), PARAMETERS, {"box", "table"})


@pytest.mark.parametrize(
    ("body", "register", "expected"),
    [
        ("cvta.to.global.u64 %rd3, %rd2; add.s64 %rd4, %rd1, %rd3;", "%rd4", Provenance("param", "", 8)),
        ("sub.s64 %rd4, %rd1, %rd2;", "%rd4", Provenance("param", "", 0)),
        ("add.s64 %rd4, %rd1, %rd2;", "%rd4", Provenance("param", "", 0, certain=False)),
        ("selp.b64 %rd4, %rd1, %rd1, %p1;", "%rd4", Provenance("param", "", 0)),
        ("mad.wide.u32 %rd4, %r1, 4, %rd2;", "%rd4", Provenance("param", "", 8)),
        ("L: add.s64 %rd2, %rd2, 8; bra L;", "%rd2", Provenance("param", "", 8)),
        ("mov.u32 %r1, box; add.s32 %r2, %r1, 12;", "%r2", Provenance("symbol", "box")),
        ("mov.u64 %rd4, elsewhere;", "%rd4", None),
        ("ld.global.u64 %rd4, [%rd1];", "%rd4", None),
        ("mul.lo.s64 %rd4, %rd1, 8;", "%rd4", None),
    ],
)
def test_the_variable_that_an_address_is_derived_from(body: str, register: str, expected: Provenance | None) -> None:
    assert _provenance(f"{_LOADS}{body} ret;").of(Register(register)) == expected


def test_a_symbol_is_its_own_provenance_if_it_is_a_variable() -> None:
    provenance = _provenance("ret;")
    assert provenance.of(Symbol("table")) == Provenance("symbol", "table")
    assert provenance.of(Symbol("label")) is None
