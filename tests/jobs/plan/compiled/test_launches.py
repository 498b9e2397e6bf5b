from __future__ import annotations

from gpuregress.foundation.records import (
    Argument,
    Buffer,
    Case,
    CompiledLaunch,
    Entry,
    Launch,
    Program,
    ReferenceKernel,
    Source,
)
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan.compiled.launches import completed

OUT = Argument("buffer", buffer="out")
CASE = Case(
    job="j",
    name="j",
    path="/j.yaml",
    parameters={},
    source=Source("/k.py"),
    revision="r",
    source_digest="d",
    seed=0,
    buffers={"out": Buffer("out", "float32", (3, 5))},
    launches=(Launch("k", (2, 3, 1), (128, 1, 1), 0, (OUT,)),) * 2,
    dump=("out",),
    compare={},
)


def program(decided: CompiledLaunch | None) -> Program:
    return Program("key", "", "", {"k": Entry("k", (), decided)}, {}, "", (), "sm_90")


def test_a_case_whose_compiler_decides_nothing_is_itself() -> None:
    assert completed(CASE, [program(None)]) is CASE


def test_block_shared_memory_cluster_and_null_pointers() -> None:
    case = completed(CASE, [program(CompiledLaunch((64, 1, 1), 4096, 2, hidden=(0, 0)))])
    first, second = case.launches
    null = Argument("null", text="null")
    assert first == replace(CASE.launches[0], grid=(4, 3, 1), block=(64, 1, 1), shared=4096, args=(OUT, null, null))
    assert first is second, "a step that is repeated is one object"
    assert case.buffers == CASE.buffers


def test_memory_behind_a_hidden_pointer() -> None:
    case = completed(CASE, [program(CompiledLaunch(hidden=(256, 0)))])
    assert [one.buffer for one in case.launches[0].args] == ["out", "scratch_of_k", ""]
    assert case.buffers["scratch_of_k"] == Buffer("scratch_of_k", "uint8", (256 * 6,))
    assert case.dump == ("out",)


def test_an_array_is_passed_as_its_fields() -> None:
    case = completed(CASE, [program(CompiledLaunch(arguments=(2,)))])
    assert [one.buffer or one.text for one in case.launches[0].args] == [
        *("null", "null", "15", "4", "out"),
        *("3", "5", "20", "4"),
    ]
    assert case.launches[0].block == (128, 1, 1), "the job's"


def test_the_launches_of_a_reference() -> None:
    trusted = ReferenceKernel(Source("/r.py"), CASE.launches[:1])
    case = replace(CASE, reference_kernels={"out": trusted})
    decided = program(CompiledLaunch((32, 1, 1), hidden=(16,)))
    for programs in ((), (program(None),)):
        changed = completed(case, programs, {"out": decided})
        assert changed.launches == CASE.launches
        (launch,) = changed.reference_kernels["out"].launches
        assert (launch.block, launch.args[1].buffer) == ((32, 1, 1), "scratch_of_k")
        assert changed.buffers["scratch_of_k"].shape == (96,)
    assert completed(case, [program(None)], {"out": program(None)}) is case
