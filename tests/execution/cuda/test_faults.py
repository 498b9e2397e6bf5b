from __future__ import annotations

import pytest

from gpuregress.execution.cuda import faults
from gpuregress.foundation.errors import CodeLine, DeviceError, KernelFault
from gpuregress.foundation.records import FAULT_KINDS


@pytest.mark.parametrize(
    ("text", "kind", "sticky"),
    [
        ("cuCtxSynchronize failed: an illegal memory access was encountered", "illegal-access", True),
        ("cuCtxSynchronize failed: misaligned address", "misaligned", True),
        ("cuCtxSynchronize failed: device-side assert triggered", "assert", True),
        ("cuCtxSynchronize failed: an illegal instruction was encountered", "illegal-instruction", True),
        ("cuCtxSynchronize failed: hardware stack error", "stack-overflow", True),
        ("cuCtxSynchronize failed: operation not supported on global/shared address space", "illegal-access", True),
        ("cuCtxSynchronize failed: invalid program counter", "illegal-instruction", True),
        ("cuCtxSynchronize failed: unspecified launch failure", "trap", True),
        ("cuCtxSynchronize failed: the launch timed out and was terminated", "timeout", True),
        ("cuLaunchKernel failed: too many resources requested for launch", "launch", False),
        ("cuLaunchKernel failed: invalid argument", "launch", False),
    ],
)
def test_a_kernels_faults_by_cudas_text(text: str, kind: str, *, sticky: bool) -> None:
    error = faults.as_error(text, doing="launching k", kernel="k")
    assert isinstance(error, KernelFault)
    assert (error.kind, error.sticky) == (kind, sticky)
    assert kind in FAULT_KINDS
    assert str(error) == f"{text.partition(' failed: ')[2]} in k"
    assert error.source_line is None


def test_an_assertion_has_its_line() -> None:
    printed = "kernels/k.cu:12: void k(int *): block: [0,0,0], thread: [3,0,0] Assertion `n < 8` failed.\n"
    error = faults.as_error("failed: device-side assert triggered", doing="launching k", kernel="k", stderr=printed)
    assert error.source_line == CodeLine("kernels/k.cu", 12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cuMemAlloc failed: out of memory", "nvidia-smi"),
        ("cuModuleLoadDataEx failed: the provided PTX was compiled with an unsupported toolchain.", "nvJitLink"),
        ("cuModuleLoadDataEx failed: no kernel image is available for execution on the device", "another architecture"),
        ("cuModuleLoadDataEx failed: device kernel image is invalid", "another architecture"),
        ("cuCtxCreate failed: CUDA-capable device(s) is/are busy or unavailable", "another process"),
    ],
)
def test_the_rest_is_the_devices(text: str, words: str) -> None:
    error = faults.as_error(text, doing="loading k", kernel="")
    assert isinstance(error, DeviceError)
    assert str(error).startswith("loading k: ")
    assert words in str(error)


def test_a_fault_found_where_no_kernel_ran_is_the_devices() -> None:
    error = faults.as_error("cuMemAlloc failed: an illegal memory access was encountered", doing="reading x")
    assert isinstance(error, DeviceError)


def test_an_unknown_text_in_a_dead_context_is_kept() -> None:
    assert not faults.meaning_of("something new").sticky
    error = faults.as_error("cuCtxSynchronize failed: something new", doing="launching k", kernel="k", dead=True)
    assert str(error) == "launching k: something new"


def test_every_kind_in_the_table_is_known() -> None:
    assert {meaning.kind for meaning in faults.TABLE} <= {"", *FAULT_KINDS}


@pytest.mark.parametrize(("traps", "kind"), [(None, "trap"), (True, "trap"), (False, "illegal-access")])
def test_a_launch_failure_is_a_trap_where_the_program_has_one(*, traps: bool | None, kind: str) -> None:
    error = faults.as_error("cuCtxSynchronize failed: unspecified launch failure", doing="", kernel="k", traps=traps)
    assert isinstance(error, KernelFault)
    assert error.kind == kind
    assert error.sticky
    assert str(error) == "unspecified launch failure in k"
    assert "--sanitize memcheck" in error.details[0]
