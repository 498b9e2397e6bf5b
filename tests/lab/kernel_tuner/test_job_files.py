"""Files of a converted job: replaced by the next call for the same kernel, and no other file is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.lab.kernel_tuner.conversion import JobFiles


def write(folder: Path, *arrays: str, kernel: str = "add<float>") -> None:
    files = JobFiles(folder / "add.yaml", kernel)
    for name in arrays:
        assert files.add(f"{name}.npy", np.zeros(3)) == f"add/{name}.npy"
    files.add("add.cu", b"// source\n")
    with files.written({"source": "add/add.cu"}):
        pass


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_later_call_for_the_kernel_replaces_what_the_earlier_one_wrote(tmp_path: Path) -> None:
    write(tmp_path, "a", "b")
    (tmp_path / "add/mine.npy").write_bytes(b"mine")
    write(tmp_path, "b", "c")
    assert names(tmp_path) == ["add.yaml", "add/add.cu", "add/b.npy", "add/c.npy", "add/mine.npy"]
    assert (tmp_path / "add.yaml").read_text().splitlines() == [
        "# Written by gpuregress.from_kernel_tuner for the kernel add<float>",
        "# Its files: add/b.npy, add/c.npy, add/add.cu",
        "source: add/add.cu",
    ]


@pytest.mark.parametrize("name", ["add.yaml", "add/a.npy", "add/add.cu"])
def test_a_file_of_the_users_own_is_never_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / "add").mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=rf"{name} already exists, and was not written by from_kernel_tuner for add"):
        write(tmp_path, "a")
    assert (names(tmp_path), (tmp_path / name).read_text()) == ([name], "mine")
    if name != "add.yaml":  # also beside a job of an earlier call
        (tmp_path / name).unlink()
        with JobFiles(tmp_path / "add.yaml", "add<float>").written({"source": "x.cu"}):
            pass
        (tmp_path / name).write_text("mine")
        with pytest.raises(UsageError, match="already exists"):
            write(tmp_path, "a")
        assert (tmp_path / name).read_text() == "mine"


def test_a_job_of_another_kernel_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path, "a", kernel="add<double>")
    with pytest.raises(
        UsageError, match=r"not written by from_kernel_tuner for add<float>: remove it, or name another"
    ):
        write(tmp_path, "a")


def test_an_edited_list_of_files_removes_nothing_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, "a")
    (tmp_path / "other.npy").write_text("mine")
    job = tmp_path / "add.yaml"
    job.write_text(job.read_text().replace("add/a.npy", "add/../other.npy, other.npy"))
    (tmp_path / "add/a.npy").unlink()
    write(tmp_path, "a")
    assert (tmp_path / "other.npy").exists()
