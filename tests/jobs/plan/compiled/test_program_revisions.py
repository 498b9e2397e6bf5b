from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Program
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from tests.jobs.plan.projects import JOB, only, project


def test_a_source_that_does_not_tell_all_has_the_revision_of_its_program(tmp_path: Path) -> None:
    case = only(project(tmp_path, reduce=JOB), "reduce/n=1000,tile=128")
    (tmp_path / "a.ptx").write_text(".version 9.0")
    program = Program("key", str(tmp_path / "a.ptx"), "", {}, {}, "nvrtc 13.5", (), "sm_90")
    assert plan.of_programs(case, [program], lambda _job, _label: ()) == (case, None)
    unknown = replace(program, unknown="reduce.cu:3: __TIME__")
    changed, note = plan.of_programs(case, [unknown], lambda _job, _label: ())
    assert changed.revision == changed.source_digest[:8] != case.revision
    assert note is None
