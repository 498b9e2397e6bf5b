from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.jobs.spec.resolve import scope


@pytest.fixture
def problems(tmp_path: Path) -> Problems:
    return Problems(Document(tmp_path / "job.yaml", {}, {}))


def messages(problems: Problems, tmp_path: Path) -> list[str]:
    return [error.message.replace(str(tmp_path), "P") for error in problems.errors]


def test_paths_are_relative_to_the_job(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("")
    (tmp_path / "rules.py").write_text("import math as m\nclose = 1\ndef f(): pass\n")
    assert scope.existing_file(problems, ("source",), "./k.cu", "source") == tmp_path / "k.cu"
    assert scope.existing_folder(problems, ("include",), "../" + tmp_path.name) == tmp_path
    for name in ("f", "m", "close"):
        assert scope.existing_function(problems, ("verify",), f"rules.py:{name}") == f"{tmp_path}/rules.py:{name}"
    assert not problems.errors


def test_what_is_missing_is_named_with_a_near_one(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text("")
    (tmp_path / "rules.py").write_text("def close(): pass\n")
    (tmp_path / "bad.py").write_text("def (")
    assert scope.existing_file(problems, ("a",), "kernle.cu", "source") is None
    assert scope.existing_file(problems, ("b",), ".", "source") is None
    assert scope.existing_folder(problems, ("c",), "none") is None
    assert scope.existing_function(problems, ("d",), "rules.py:clsoe") is None
    assert scope.existing_function(problems, ("e",), "bad.py:f") is None
    text = messages(problems, tmp_path)
    assert text[:4] == [
        "source not found: P/kernle.cu; did you mean 'kernel.cu'?",
        "the source P is a folder",
        "folder not found: P/none",
        "P/rules.py has no function 'clsoe'; did you mean 'close'?",
    ]
    assert text[4].startswith("P/bad.py is not Python")
