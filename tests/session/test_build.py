from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.execution.workers.compiler_pool import Result
from gpuregress.foundation.errors import CompileError, HarnessError, UsageError
from gpuregress.foundation.records import Source
from gpuregress.session import compilation
from gpuregress.store.project import find
from tests import fakes, workshop


def test_each_distinct_source_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Source] = []

    def compile_sources(wanted: list[Source], *, cubins: bool, listen: object) -> list[Result]:
        assert not cubins
        compiled.extend(wanted)
        return [fakes.program(), CompileError("broken.cu(3): error"), *[HarnessError("no assembler")] * 2]

    shop = workshop.make(tmp_path)
    shop.job(("n: [100]", "n: [100, 200]"))
    shop.write("kernels/other.cu", workshop.KERNEL)
    shop.job(("scale.cu", "other.cu"), name="other")
    for name in ("third", "fourth"):
        shop.write(f"kernels/{name}.cu", workshop.KERNEL)
        shop.job(("scale.cu", f"{name}.cu"), name=name)
    monkeypatch.setattr(compilation, "compile_sources", compile_sources)
    built = compilation.build(find(shop.root), (), arch="sm_80", cubins=False)
    assert [(Path(source.path).name, source.arch) for source in compiled] == [
        ("fourth.cu", "sm_80"),
        ("other.cu", "sm_80"),
        ("scale.cu", "sm_80"),
        ("third.cu", "sm_80"),
    ]
    assert (built.programs, built.errors, built.exit_code) == (
        1,
        ("broken.cu(3): error", "2 programs: no assembler"),
        4,
    )


def test_an_unknown_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--arch"):
        compilation.build(find(workshop.make(tmp_path).root), (), arch="sm_1x")
