from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuregress.execution.cluster import sent_files
from gpuregress.execution.cluster.sent_files import TaskFiles
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Buffer, CaseSettings, Fill, InputFile, PythonFunction, Seeded, Source, Task
from gpuregress.gpu.records import replace
from tests import fakes


def made(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or str(path))
    return str(path)


def paths(task: Task) -> list[str]:
    return [file.path for file in TaskFiles().of(task)]


def test_a_plain_task_needs_its_programs_only(tmp_path: Path) -> None:
    program = replace(fakes.program(), ptx=made(tmp_path / "a.ptx"), cubin=str(tmp_path / "gone.cubin"))
    other = replace(program, ptx=made(tmp_path / "b.ptx"))
    third = replace(program, ptx="", cubin=made(tmp_path / "c.cubin"))
    task = replace(
        fakes.task(fakes.case("double"), tmp_path), program=program, other_programs=(other,), variants={"v": (third,)}
    )
    assert paths(task) == [str(tmp_path / name) for name in ("a.ptx", "b.ptx", "c.cubin")]


def test_files_and_modules_of_fills_seeds_and_references(tmp_path: Path) -> None:
    archive, table = made(tmp_path / "data" / "x.npz"), made(tmp_path / "data" / "y.txt")
    reference = made(tmp_path / "data" / "reference.npy")
    module = made(tmp_path / "user" / "fills.py")
    beside, below = made(tmp_path / "user" / "helper.py"), made(tmp_path / "user" / "package" / "inner.py")
    made(tmp_path / "user" / ".hidden" / "no.py")
    made(tmp_path / "user" / "job.yaml")
    case = fakes.case(
        "double",
        reference={"out": f"{module}:f"},
        reference_files={"out": reference},
        seeds=(Seeded(7, {"x": Fill("file", InputFile(table), 1)}),),
    )
    buffer = Buffer("x", "float32", (8,), Fill("file", InputFile(f"{archive}:name"), 1))
    python = Buffer("z", "float32", (8,), Fill("python", PythonFunction(f"{module}:g"), 1))
    case = replace(case, buffers={**case.buffers, "x": buffer, "z": python})
    wanted = [archive, table, reference, module, beside, below]
    assert sorted(paths(fakes.task(case, tmp_path))) == sorted(wanted)


def test_of_a_folder_with_many_modules_only_its_own_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_files, "MOST_MODULES", 2)
    module, beside = made(tmp_path / "user" / "a.py"), made(tmp_path / "user" / "b.py")
    made(tmp_path / "user" / "deep" / "c.py")
    case = fakes.case("double", reference={"out": f"{module}:f"})
    assert paths(fakes.task(case, tmp_path)) == [module, beside]


def test_sources_travel_for_twins_only(tmp_path: Path) -> None:
    header, source = (
        made(tmp_path / "include" / "h.cuh", "#define N 1\n"),
        made(tmp_path / "k.cu", '#include "h.cuh"\n'),
    )
    case = replace(fakes.case("double"), source=Source(source, include=(str(tmp_path / "include"),)))
    assert paths(fakes.task(case, tmp_path)) == []
    case = replace(case, settings=CaseSettings(twins=("host",)))
    assert paths(fakes.task(case, tmp_path)) == [source, header]
    folders = sent_files.folders_of(fakes.task(case, tmp_path))
    assert folders == (case.path, source, str(tmp_path / "include"))


def test_a_file_is_digested_again_when_it_was_edited(tmp_path: Path) -> None:
    table = made(tmp_path / "x.txt", "1")
    case = fakes.case("double", reference_files={"out": table})
    task, files = fakes.task(case, tmp_path), TaskFiles()
    first = files.of(task)[0]
    assert files.of(task)[0] is first
    made(tmp_path / "x.txt", "2")
    os.utime(table, ns=(1, 1))
    assert files.of(task)[0].digest != first.digest


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    case = fakes.case("double", reference_files={"out": str(tmp_path / "gone.npy")})
    with pytest.raises(StorageError, match=r"gone\.npy"):
        TaskFiles().of(fakes.task(case, tmp_path))
