"""Queries to git: answers, their absence, and programs that a repository names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpuregress import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("text")
    run(tmp_path, "add", "file")
    run(tmp_path, "-c", "user.name=N", "-c", "user.email=e@x", "commit", "-q", "-m", "Add a file")
    return tmp_path


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)


def test_the_output_of_a_command_is_returned(repository: Path) -> None:
    assert git.answer(repository, "log", "--format=%s") == "Add a file\n"
    assert git.answer(repository, "ls-tree", "--name-only", "HEAD", "--", "file") == "file\n"


def test_an_error_no_repository_and_no_folder_have_no_answer(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert git.answer(repository, "rev-parse", "--verify", "nowhere") is None
    assert git.answer(tmp_path_factory.mktemp("empty"), "log") is None
    assert git.answer(repository / "missing", "log") is None


def test_no_git_is_no_error(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert git.answer(repository, "log") is None


def test_variables_of_the_environment_lead_to_no_other_repository(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path_factory.mktemp("other")))
    assert git.answer(repository, "log", "--format=%s") == "Add a file\n"


@pytest.mark.parametrize("key", ["core.fsmonitor", "gpg.program"])
def test_no_program_that_the_repository_names_is_run(repository: Path, key: str) -> None:
    program = repository / "program"
    program.write_text(f"#!/bin/sh\ntouch {repository}/was-run\n")
    program.chmod(0o755)
    run(repository, "config", key, str(program))
    run(repository, "config", "log.showSignature", "true")
    assert git.answer(repository, "log", "--format=%s") == "Add a file\n"
    assert git.answer(repository, "status", "--porcelain") is not None
    assert not (repository / "was-run").exists()
