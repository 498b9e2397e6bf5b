from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.foundation.errors import InfeasibleSource
from gpuregress.foundation.records import Program
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache, cubin_linker

PROGRAM = Program("key", "a.ptx", "", {}, {}, "nvrtc 13.5.37", (), "sm_90")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    with cache.used_folder(tmp_path / "cache"):
        yield


def test_machine_code_is_found_by_program_and_architecture() -> None:
    key = cubin_linker.key_of(PROGRAM)
    assert key != cubin_linker.key_of(replace(PROGRAM, arch="sm_90a"))
    cache.store(key, {"linker": "ptxas", "resources": {"k": {"registers": 8}}}, {".cubin": b"ELF"})
    assert Path(cubin_linker.build_cubin(PROGRAM).cubin).read_bytes() == b"ELF"
    assert cubin_linker.resources(PROGRAM) == {"k": {"registers": 8}}


def test_a_refusal_is_kept() -> None:
    cubin_linker.store_refusal(cubin_linker.key_of(PROGRAM), "too much shared memory")
    with pytest.raises(InfeasibleSource, match="too much shared memory"):
        cubin_linker.build_cubin(PROGRAM)


def test_a_program_with_machine_code_is_taken_as_it_is() -> None:
    given = replace(PROGRAM, cubin="given.cubin")
    assert cubin_linker.build_cubin(given) is given


def test_a_worker_loads_no_compiler_and_reads_no_job() -> None:
    code = "import sys, gpuregress.execution.workers.child, gpuregress.jobs.inputs.fills; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "gpuregress.execution.runner.execution" in loaded
    assert not loaded & {"gpuregress.toolchain.programs", "gpuregress.toolchain.include_scanner"}
    assert not loaded & {"yaml", "email.message", "argparse"}
