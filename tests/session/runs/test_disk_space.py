from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Buffer, Case, CaseSettings, Launch, Rule, Source
from gpuregress.session.runs import disk_space, run_folders
from gpuregress.store.dumps import run_names, writer
from gpuregress.store.project import Project
from gpuregress.store.settings import SettingsSpec
from tests.session.runs.test_retention import made

MEGABYTE = 1 << 20


def case(name: str, count: int, dtype: str = "float32", **more: object) -> Case:
    buffers = {"y": Buffer("y", dtype, (count,))}
    common = Case("j", name, "j.yaml", {}, Source("j.cu"), "1", "", 0, buffers, (), ("y",), {"y": Rule()})
    return common if not more else Case(**{**{f: getattr(common, f) for f in common.__struct_fields__}, **more})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A disk with 1,000 MiB and so many free beside what the runs take."""

    def make(free: int) -> None:
        def stat(_path: Path) -> os.statvfs_result:
            taken = sum(path.stat().st_size for path in tmp_path.glob("runs/2*/**/*") if path.is_file())
            blocks = max(0, free * MEGABYTE - taken) // 4096
            return os.statvfs_result((4096, 4096, 1000 * 256, blocks, blocks, 0, 0, 0, 0, 255))

        monkeypatch.setattr(os, "statvfs", stat)

    return make


def test_what_has_room_is_run(project: Project, disk: Callable[[int], None]) -> None:
    disk(50)
    assert disk_space.require(project, [case("j/n=1", MEGABYTE)]) == ()
    assert disk_space.require(project, []) == ()


def test_what_has_no_room_is_refused_with_the_sizes(project: Project, disk: Callable[[int], None]) -> None:
    disk(50)
    with pytest.raises(StorageError) as caught:
        disk_space.require(project, [case("j/n=1", MEGABYTE), case("j/n=4", 4 * MEGABYTE)])
    text = str(caught.value)
    assert f"too little space on the disk of {project.runs}: this run needs about 68.0 MiB for the dumps of 2" in text
    assert "(the largest: y of j/n=4, 48.0 MiB), and 50.0 MiB is free; nothing was run" in text


def test_the_size_of_an_accepted_dump_is_better_than_an_estimate(project: Project, disk: Callable[[int], None]) -> None:
    (project.baselines / "j").mkdir(parents=True)
    (project.baselines / "j/y.1").write_bytes(bytes(1000))
    disk(50)
    assert disk_space.require(project, [case("j", 5 * MEGABYTE)]) == ()


def test_contents_of_runs_that_were_removed_by_hand_go_first(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = project.runs / run_folders.CONTENTS
    contents.mkdir(parents=True)
    (contents / "abc").write_bytes(bytes(MEGABYTE))

    def stat(_path: Path) -> os.statvfs_result:
        blocks = (10 if (contents / "abc").exists() else 100) * 256
        return os.statvfs_result((4096, 4096, 1000 * 256, blocks, blocks, 0, 0, 0, 0, 255))

    monkeypatch.setattr(os, "statvfs", stat)
    assert disk_space.require(project, [case("j", MEGABYTE)]) == ()
    assert not (contents / "abc").exists()


def test_old_runs_go_only_where_that_makes_enough_room(project: Project, disk: Callable[[int], None]) -> None:
    for number in range(4):
        folder = made(project.runs, f"2026112{number}T020000Z-0000", {"a": "new"})
        (folder / "dumps/y.1").write_bytes(bytes(10 * MEGABYTE))
    disk(60)
    with pytest.raises(StorageError, match="too little space"):
        disk_space.require(project, [case("j", 4 * MEGABYTE)])
    assert len(run_names.every(project.runs)) == 4
    notes = disk_space.require(project, [case("j", 2 * MEGABYTE)])
    assert notes == ("the disk is short of space: 2 old runs were removed",)


@pytest.mark.parametrize("which", ["GPUREGRESS_CACHE", "TMPDIR"])
def test_the_cache_and_the_temporary_folder_need_room_too(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    for name in ("GPUREGRESS_CACHE", "TMPDIR"):
        monkeypatch.setenv(name, str(full if name == which else tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def stat(path: Path) -> os.statvfs_result:
        free = 10 if Path(path) == full else 1 << 20
        return os.statvfs_result((4096, 4096, 1 << 20, free, free, 0, 0, 0, 0, 255))

    monkeypatch.setattr(os, "statvfs", stat)
    with pytest.raises(
        StorageError, match=f"{full}, the folder of .* 8.0 MiB are needed and 40.0 KiB is free.*{which}"
    ):
        disk_space.require(project, [])


def test_a_disk_that_tells_nothing_is_not_full(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result((0,) * 10))
    assert disk_space.require(project, [case("j", 1 << 40)]) == ()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8", "bool", "float4"])
def test_estimates_are_near_the_size_of_random_numbers(tmp_path: Path, dtype: str) -> None:
    element, count = dtypes.parse(dtype), 2000
    random = np.random.default_rng(3)
    parts = len(element.parts)
    if element.parts[0].scalar.is_float:
        values = random.standard_normal((count, parts)).astype(element.parts[0].scalar.storage)
    else:
        values = random.integers(0, 2 if dtype == "bool" else 200, (count, parts)).astype(element.storage)
    array = values.reshape(-1).view(element.storage)
    written = Path(writer.write(tmp_path / "y.1", array, element, (count,)).path).stat().st_size
    guess = disk_space.estimate(Buffer("y", dtype, (count,)), 1 << 30)
    assert written / 2 < guess < 2.5 * written
    assert disk_space.estimate(Buffer("y", dtype, (count,)), 10) == guess // 2 + (16 << 20)


def test_every_launch_has_its_dumps(project: Project, disk: Callable[[int], None]) -> None:
    launches = tuple(Launch("k", (1, 1, 1), (1, 1, 1), 0, ()) for _ in range(5))
    disk(50)
    every = case("j", MEGABYTE, launches=launches, settings=CaseSettings(dump_every_launch=True))
    with pytest.raises(StorageError, match=r"about 80\.0 MiB"):
        disk_space.require(project, [every])
    assert project.settings == SettingsSpec()
