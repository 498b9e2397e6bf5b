"""Data files of a job: their names with the case's numbers, archives, earlier results."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import InputFile
from gpuregress.jobs.spec.resolve import buffers
from gpuregress.jobs.spec.resolve.scope import Scope


def earlier(text: str) -> InputFile:
    if text == "baseline:reduce/n=8/sum":
        return InputFile("/there/sum.1.4", text, "00")
    raise UsageError(f"{text!r}: not there")


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    for name in ("points_8.npy", "all.npz"):
        (tmp_path / name).touch()
    return Scope({"n": 8}, Problems(Document(tmp_path / "job.yaml", {}, {})), "n=8")


def test_a_file_beside_the_job(scope: Scope, tmp_path: Path) -> None:
    for text, path in {
        "points_{n}.npy": "points_8.npy",
        "points_{2 * n - 8}.npy": "points_8.npy",
        "all.npz:x": "all.npz:x",
    }.items():
        assert buffers.data_file(scope, ("a",), text, earlier) == InputFile(f"{tmp_path}/{path}")
    assert not scope.problems.errors


def test_an_earlier_result(scope: Scope) -> None:
    found = buffers.data_file(scope, ("a",), "baseline:reduce/n={n}/sum", earlier)
    assert found == InputFile("/there/sum.1.4", "baseline:reduce/n=8/sum", "00")


def test_what_is_not_there(scope: Scope) -> None:
    for key, text in {
        "a": "points_{n + 1}.npy",
        "b": "run:latest/{n}/y",
        "c": "points_{m}.npy",
        "d": "none.npz:x",
    }.items():
        assert buffers.data_file(scope, (key,), text, earlier) is None
    messages = [error.message for error in scope.problems.errors]
    assert messages[0].startswith("file not found: ")
    assert "points_9.npy" in messages[0]
    assert messages[1] == "'run:latest/8/y': not there (in case n=8)"
    assert "points_{m}.npy; did you mean 'points_8.npy'?" in messages[2], "braces without a parameter stay"
    assert messages[3].endswith("none.npz; did you mean 'all.npz'?") or "none.npz" in messages[3]
