from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import i32
from gpuregress.virtual_gpu.builder.threads import COORDINATES
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.functions.kernel_body import STACK_BYTES, Body
from gpuregress.virtual_gpu.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func f();\n"


def _body(text: str) -> Body:
    unit = Unit(parse(HEAD + text), None)
    return Body(unit, unit.functions["k"], "kernel_0")


@pytest.mark.parametrize(
    ("text", "local_bytes", "is_co_resident"),
    [
        (".visible .entry k() { ret; }", 0, False),
        (".visible .entry k() { .local .align 4 .b8 own[20]; ret; }", 32, False),
        (".visible .entry k() { call.uni f; ret; }", STACK_BYTES, False),
        (".visible .entry k() { .reg .b32 %r; mov.u32 %r, %envreg1; ret; }", 0, True),
        (".visible .entry k() .reqnctapercluster 2, 1, 1 { ret; }", 0, True),
    ],
)
def test_facts_of_a_kernel(text: str, local_bytes: int, is_co_resident: bool) -> None:  # noqa: FBT001 - a row
    body = _body(text)
    assert (body.local_bytes, body.is_co_resident) == (local_bytes, is_co_resident)


def test_the_running_thread_is_stored_for_faults() -> None:
    body = _body(".visible .entry k() { ret; }")
    body.block = {f"ctaid_{axis}": i32(number) for number, axis in enumerate("xyz", 5)}
    b = ir.IRBuilder(body.llvm.append_basic_block())
    body.start_thread(b, {f"tid_{axis}": i32(number) for number, axis in enumerate("xyz")}, None)
    assert [body.thread.coordinate(b, name).constant for name in COORDINATES] == [0, 1, 2, 5, 6, 7]
    assert str(b.block).count("store i32") == len(COORDINATES)
