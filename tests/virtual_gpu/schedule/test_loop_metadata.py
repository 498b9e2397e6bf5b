from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I32, I64, POINTER, element, entry_alloca, i32, i64, open_function
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.schedule.interchange import mark_parallel


@pytest.fixture(scope="module")
def llvm_passes() -> None:
    """With them: they are what is tested."""


def _optimised(*, parallel: bool) -> str:
    """A loop that reads memory at an unknown distance from what it writes."""
    module = ir.Module("test")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), (POINTER, I64)), "shift")
    pointer, distance = function.args
    b = open_function(function)
    counter = entry_alloca(function, I64)
    b.store(i64(0), counter)
    head, after = (function.append_basic_block(name) for name in ("head", "after"))
    b.branch(head)
    b.position_at_end(head)
    index = b.load(counter, typ=I64)
    value = b.load(element(b, pointer, b.add(index, distance), I32), typ=I32)
    b.store(b.add(value, i32(1)), element(b, pointer, index, I32))
    following = b.add(index, i64(1))
    b.store(following, counter)
    branch = b.cbranch(b.icmp_unsigned("<", following, i64(1024)), head, after)
    if parallel:
        mark_parallel(module, [head], branch)
    ir.IRBuilder(after).ret_void()
    return str(llvm_backend.optimise(str(module)))


def test_a_loop_whose_accesses_are_declared_independent_is_vectorised_without_checks_for_overlap() -> None:
    declared, checked = (_optimised(parallel=parallel) for parallel in (True, False))
    assert "vector.body" in declared
    assert declared.count("br i1") == 1 < checked.count("br i1")
