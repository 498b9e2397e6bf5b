"""The kernels of kernels/ on several cores: which are cut, and that their bytes are those of one core.

The parts run one after the other, the last one first: what depends on their order shows every time.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.errors import MissingCompiler
from gpuregress.foundation.records import Case, Task
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.jobs.plan import compiled_launches
from gpuregress.store import project
from gpuregress.store.baselines import BaselineStore
from gpuregress.toolchain import programs
from gpuregress.virtual_gpu.parallel import cores, partition
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from tests.slow_cases import some_slow

ROOT = Path(__file__).parents[3]
UNCUT = dict.fromkeys(("compact", "dot", "histogram", "langdon_counter", "nearest"), "atomics in global memory")
UNCUT |= dict.fromkeys(("langdon_no_threads", "langdon_stride"), "one block")
UNCUT |= dict.fromkeys(("flash_attention", "wgmma_gemm", "wgmma_tma_gemm"), "products and copies of whole warps")
UNCUT |= {
    f"triton-{name}": "exchanges of whole warps"
    for name in ("attention", "layer-norm", "matmul", "matmul-descriptors", "matmul-fp8", "softmax")
}
UNCUT |= {"cluster": "blocks of a cluster wait for each other"}


def _jobs() -> dict[str, list[Case]]:
    actual: dict[str, list[Case]] = {}
    here = project.find(ROOT)
    feasible = set(BaselineStore(here.baselines).case_names())
    for case in plan.make(here, []).cases:
        if case.expect_fault is None and (case.settings.infeasible is None or case.name in feasible):
            actual.setdefault(case.job, []).append(case)
    return actual


JOBS = _jobs()


def backwards(function: Callable[[int], int], machines: Sequence[Machine]) -> tuple[int, Machine]:
    """Runs the parts in the wrong order; none must fail."""
    for machine in reversed(machines):
        assert function(ctypes.addressof(machine)) == 0
    return 0, machines[0]


def run(case: Case, count: int) -> tuple[dict[str, str], list[int]]:
    """The digests of a case's dumps, and into how many parts each launch was cut."""
    whole, cut = partition.PartitionCache.partition, list[int]()

    def watch(*arguments: object) -> list[tuple[int, int]]:
        actual = whole(*arguments)  # type: ignore[arg-type]  # handed through
        cut.append(len(actual))
        return actual

    plain = replace(case, reference={}, reference_kernels={}, repeat=1)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "MIN_THREADS", 1)
        patch.setattr(partition.PartitionCache, "partition", watch)
        patch.setattr(partition, "run_parallel", backwards)
        patch.setenv(cores.VARIABLE, str(count))
        with registry.open_device("cpu") as device:
            program, *others = (programs.compile(source) for source in case.sources)
            plain = compiled_launches.completed(plain, (program, *others))
            task = Task(plain, program, f"{folder}/launch.log", 1, str(folder), other_programs=tuple(others))
            outcome = run_case(device, task)
    assert outcome.state == "done", outcome.message
    return {dump.buffer: dump.digest for dump in outcome.dumps}, cut


SLOW = {*UNCUT, "bitonic", "gp", "morton", "nbody"}


@pytest.mark.parametrize("job", some_slow(sorted(JOBS), SLOW))
def test_cut_with_the_same_bytes(job: str) -> None:
    several = [3] if job in UNCUT else [2, 3, 5]
    cases = [(JOBS[job][-1], several)] if len(JOBS[job]) == 1 else [(JOBS[job][0], [3]), (JOBS[job][-1], several)]
    for case, counts in cases:
        try:
            alone, cut = run(case, 1)
        except MissingCompiler as missing:
            pytest.skip(str(missing))
        assert set(cut) == {1}
        blocks = [launch.grid[0] * launch.grid[1] * launch.grid[2] for launch in case.launches]
        for count in counts:
            actual, cut = run(case, count)
            assert actual == alone, f"{case.name} in {count} parts"
            if job in UNCUT:
                assert set(cut) == {1}
            elif count == 2:
                assert cut.count(1) <= blocks.count(1), f"{case.name}: a launch of several blocks is in one part"
