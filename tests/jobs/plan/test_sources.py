from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Launch
from gpuregress.jobs import plan
from gpuregress.jobs.plan.sources import SourceFacts
from gpuregress.store.project import Project
from tests.jobs.plan.projects import JOB, project


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


def test_ptx_takes_no_compiler_options(tmp_path: Path) -> None:
    text = JOB.replace("reduce.cu", "reduce.ptx") + "compile: {options: [-lineinfo]}\n"
    example = project(tmp_path, reduce=text)
    (tmp_path / "kernels" / "reduce.ptx").write_text("// ptx\n")
    with pytest.raises(JobErrors, match=r"compile.options: has no effect: reduce.ptx is taken as it is"):
        plan.make(example, [])


def test_a_cubin_runs_on_cuda_only(tmp_path: Path) -> None:
    text = JOB.replace("reduce.cu", "reduce.cubin")
    example = project(tmp_path, reduce=text)
    (tmp_path / "kernels" / "reduce.cubin").write_bytes(b"\x7fELF\xff")
    assert {case.devices for case in plan.make(example, []).cases} == {("cuda",)}
    (tmp_path / "configs" / "reduce.yaml").write_text(text + "devices: [cpu]\n")
    with pytest.raises(JobErrors, match=r"devices\[0\]: a .cubin is machine code"):
        plan.make(example, [])


def test_shared_revision_of_another_source(tmp_path: Path) -> None:
    from gpuregress.jobs import revision  # noqa: PLC0415 - only here

    example = project(tmp_path, reduce=JOB + "revision: 1.10\n")
    case = plan.make(example, []).cases[0]
    assert case.revision == "1.10"
    revision.record(example.runs, {(case.job, case.revision, case.source_digest)})
    assert plan.make(example, []).cases[0].revision == "1.10"
    source = tmp_path / "kernels" / "reduce.cu"
    source.write_text(source.read_text() + "// changed\n")
    changed = plan.make(example, [])
    label = f"1.10+{changed.cases[0].source_digest[:6]}"
    assert {case.revision for case in changed.cases} == {label}
    assert changed.notes == (f"reduce: revision 1.10 is already recorded for another source text: this one is {label}",)


def test_a_repeated_launch_of_another_source_stays_one_object() -> None:
    facts = SourceFacts((), {0: 0, 1: 1}, None, (), None, "", 0)
    first, second = (Launch("k", (1, 1, 1), (32, 1, 1), 0, (), origin=origin) for origin in range(2))
    launched = facts.launched((first, second, second, first))
    assert [one.source for one in launched] == [0, 1, 1, 0]
    assert launched[0] is launched[3] is first
    assert launched[1] is launched[2]
