from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import JobErrors, MissingCompiler
from gpuregress.foundation.records import Case
from gpuregress.jobs import plan
from gpuregress.jobs.plan import CaseOverrides, case_planning
from gpuregress.jobs.plan.kept import plans
from gpuregress.jobs.revision import Labels
from gpuregress.store.project import Project, find
from gpuregress.toolchain import cache
from gpuregress.toolchain.python_kernels import autotuning
from tests.jobs.plan.projects import FULL, JOB, project
from tests.jobs.plan.spaces.test_autotuning import JOB as AUTOTUNED
from tests.jobs.plan.spaces.test_autotuning import KERNEL

HEADER = "compile: {include: [../kernels/include]}\n"


class Planning:
    """Counts how often jobs are planned."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = case_planning.of_job

        def counted(*arguments: Any) -> Any:
            self.count += 1
            return real(*arguments)

        monkeypatch.setattr(case_planning, "of_job", counted)

    def is_fresh(self, do: Callable[[], object]) -> bool:
        """Whether a job is planned, and not found."""
        before = self.count
        do()
        return self.count > before


@pytest.fixture(autouse=True, scope="module")
def _modules_of_now() -> Iterator[None]:
    """Take the modules' files for those that were loaded: an edit while the tests run lets no plan be kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "LOADED", math.inf)
        plans._loaded_stamp.cache_clear()
        yield
    plans._loaded_stamp.cache_clear()


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Planning]:
    with cache.used_folder(tmp_path / "cache"):
        yield Planning(monkeypatch)


def planned(of: Project, overrides: CaseOverrides = CaseOverrides()) -> tuple[tuple[Case, ...], tuple[str, ...]]:  # noqa: B008 - it is frozen
    return plans.of_job(of.configs / "reduce.yaml", of, overrides, Labels())


@pytest.mark.parametrize("job", [JOB, FULL, JOB + "revision: 1.10\n"])
def test_a_kept_plan_is_the_fresh_one(tmp_path: Path, planning: Planning, job: str) -> None:
    example = project(tmp_path / "p", reduce=job)
    first = planned(example)
    assert not planning.is_fresh(lambda: planned(example))
    assert planned(example) == first


@settings(max_examples=12)
@given(
    extents=st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
    fill=st.sampled_from(["arange", "zeros", "{normal: {std: 2.5}}", "{value: -0.0}", "{uniform: {low: -1, high: 1}}"]),
    dtype=st.sampled_from(["float32", "int8", "float64", "complex64"]),
    argument=st.sampled_from(["{float32: 0.1}", "{int32: n}", "{float64: n / 3}", "{pointer: x}"]),
    more=st.lists(st.sampled_from(["repeat: 2", "seed: 7", "tags: [a, 1.10]", "twins: [cpu]"]), unique=True),
)
def test_kept_plans_are_fresh_ones(
    tmp_path_factory: pytest.TempPathFactory, extents: list[int], fill: str, dtype: str, argument: str, more: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("p")
    job = f"""source: ../kernels/reduce.cu
parameters: {{n: {extents}}}
buffers: {{x: {{dtype: {dtype}, shape: [n * 2], fill: {fill}}}}}
launches: [{{kernel: k, grid: [n], block: [32], args: [x, {argument}]}}]
dump: [x]
"""
    example = project(folder / "p", reduce=job + "\n".join(more))
    with cache.used_folder(folder / "cache"):
        try:
            first = planned(example)
        except JobErrors:
            return
        with pytest.MonkeyPatch.context() as patch:
            assert not Planning(patch).is_fresh(lambda: planned(example))
            assert repr(planned(example)) == repr(first)


def _write(path: str, text: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)

    return write


def _link(root: Path) -> None:
    (root / "kernels/reduce.cu").rename(root / "kernels/real.cu")
    (root / "kernels/reduce.cu").symlink_to("real.cu")


def _link_a_folder(root: Path) -> None:
    """`sub/../b.h` is now another file, though each file that was read is as it was."""
    (root / "other/sub").mkdir(parents=True)
    (root / "other/b.h").write_text("int other;")
    (root / "kernels/include/sub").rmdir()
    (root / "kernels/include/sub").symlink_to(root / "other/sub")


@pytest.mark.parametrize(
    "change",
    [
        _write("configs/reduce.yaml", JOB + HEADER + "seed: 3\n"),
        _write("kernels/reduce.cu", '#include "a.h"\n__global__ void block_sum();'),
        _write("kernels/include/a.h", "int x;"),
        _write("kernels/a.h", "int y;"),
        _write("kernels/include/cuda_fp16.h", ""),
        _write("gpuregress.yaml", "limits: {timeout: 7}"),
        _link,
        _link_a_folder,
    ],
)
def test_a_change_of_what_was_read_is_noticed(
    tmp_path: Path, planning: Planning, change: Callable[[Path], None]
) -> None:
    example = project(tmp_path / "p", reduce=JOB + HEADER)
    (tmp_path / "p/kernels/include/sub").mkdir()
    (tmp_path / "p/kernels/include/b.h").write_text("int b;")
    (tmp_path / "p/kernels/include/a.h").write_text('#include "sub/../b.h"')
    (tmp_path / "p/kernels/reduce.cu").write_text('#include "a.h"\n__global__ void block_sum(float*, float*, int);')
    planned(example)
    assert not planning.is_fresh(lambda: planned(example))
    change(tmp_path / "p")
    assert planning.is_fresh(lambda: planned(find(tmp_path / "p")))


def test_overrides_and_python_functions_are_inputs(tmp_path: Path, planning: Planning) -> None:
    example = project(tmp_path / "p", reduce=FULL)
    planned(example)
    assert planning.is_fresh(lambda: planned(example, CaseOverrides(repeat=4)))
    assert not planning.is_fresh(lambda: planned(example))
    (tmp_path / "p/configs/reference.py").write_text("def totals_agree(expected, actual, case):\n    return True\n")
    with pytest.raises(JobErrors, match="has no function 'block_sums'"):
        planned(example)


def test_another_installation_plans_again(tmp_path: Path, planning: Planning, monkeypatch: pytest.MonkeyPatch) -> None:
    example = project(tmp_path / "p", reduce=JOB)
    planned(example)
    monkeypatch.syspath_prepend(tmp_path)
    assert planning.is_fresh(lambda: planned(example))


def test_a_job_without_cases_for_want_of_a_compiler_is_not_kept(
    tmp_path: Path, planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise MissingCompiler("k.py needs triton")

    monkeypatch.setattr(autotuning, "configurations", missing)
    example = project(tmp_path / "p", reduce=AUTOTUNED + "infeasible: skip\n")
    (tmp_path / "p/kernels/k.py").write_text(KERNEL)
    assert planned(example) == ((), ("reduce: none of its cases is run: k.py needs triton",))
    assert planning.is_fresh(lambda: planned(example))


def test_a_file_that_vanished_is_an_error_as_ever(tmp_path: Path, planning: Planning) -> None:
    example = project(tmp_path / "p", reduce=JOB)
    planned(example)
    (tmp_path / "p/kernels/reduce.cu").unlink()
    with pytest.raises(JobErrors, match="source not found"):
        planned(example)


def test_other_modules_plan_again(tmp_path: Path, planning: Planning, monkeypatch: pytest.MonkeyPatch) -> None:
    example = project(tmp_path / "p", reduce=JOB)
    planned(example)
    plans._are_current.cache_clear()
    real = plans._module_stamp
    monkeypatch.setattr(plans, "_module_stamp", lambda path: real(path) + "0")
    assert planning.is_fresh(lambda: planned(example))
    plans._are_current.cache_clear()


def test_a_process_whose_modules_were_changed_keeps_nothing(
    tmp_path: Path, planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = project(tmp_path / "p", reduce=JOB)
    plans._loaded_stamp.cache_clear()
    monkeypatch.setattr(plans, "LOADED", 0.0)
    planned(example)
    assert planning.is_fresh(lambda: planned(example))
    plans._loaded_stamp.cache_clear()


def test_modules_that_change_later_are_not_those_of_the_process(
    tmp_path: Path, planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(project(tmp_path / "p", reduce=JOB))
    real = plans._module_stamp
    monkeypatch.setattr(plans, "_module_stamp", lambda path: real(path) + "0")
    example = project(tmp_path / "q", reduce=JOB)
    planned(example)
    assert planning.is_fresh(lambda: planned(example)), "the next process plans with the changed ones"
    monkeypatch.undo()
    plans._are_current.cache_clear()


def test_what_cannot_be_followed_is_planned_every_time(tmp_path: Path, planning: Planning) -> None:
    example = project(tmp_path / "p", reduce=JOB.replace("{normal: {std: 2.0}}", "{file: 'x{n}.bin'}"))
    for count in (1000, 65536):
        with (example.configs / f"x{count}.bin").open("wb") as file:
            file.truncate(4 * count)
    planned(example)
    assert not planning.is_fresh(lambda: planned(example))
    (example.configs / "reduce.yaml").write_text(
        JOB.replace("[1000, 65536]", "[2097152]").replace("{normal: {std: 2.0}}", "{file: x.bin}")
    )
    with (example.configs / "x.bin").open("wb") as file:
        file.truncate(8 << 20)  # is not read at each start
    planned(example)
    assert planning.is_fresh(lambda: planned(example))


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"format": 2}'])
def test_a_damaged_entry_is_planned_again(tmp_path: Path, planning: Planning, damage: bytes) -> None:
    example = project(tmp_path / "p", reduce=JOB)
    first = planned(example)
    for path in (tmp_path / "cache").rglob("*.json"):
        path.write_bytes(damage)
    plans._are_current.cache_clear()
    assert planning.is_fresh(lambda: planned(example))
    assert planned(example) == first


def test_a_cache_that_others_may_write_is_not_used(tmp_path: Path, planning: Planning) -> None:
    example = project(tmp_path / "p", reduce=JOB)
    planned(example)
    (tmp_path / "cache").chmod(0o777)
    assert planning.is_fresh(lambda: planned(example))


def test_a_kept_plan_loads_neither_models_nor_yaml(tmp_path: Path) -> None:
    example = project(tmp_path / "p", reduce=JOB)
    code = (
        "import sys\nfrom pathlib import Path\nfrom gpuregress import plan, project\n"
        "print(len(plan.make(project.find(Path(sys.argv[1])), []).cases),"
        " *(name for name in ('pydantic', 'yaml', 'numpy', 'gpuregress.jobs.spec.load') if name in sys.modules))"
    )
    command = [sys.executable, "-P", "-c", code, str(example.root)]
    environment = {**os.environ, "GPUREGRESS_CACHE": str(tmp_path / "cache")}
    for expected in ("pydantic", None):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split()[0] == "4"
        assert (expected in done.stdout) if expected else done.stdout.split()[1:] == []


def test_selection_takes_kept_plans(tmp_path: Path, planning: Planning) -> None:
    example = project(tmp_path / "p", reduce=JOB, other=JOB)
    first = plan.make(example, [])
    assert planning.count == 2
    assert plan.make(example, []) == first
    assert planning.count == 2
