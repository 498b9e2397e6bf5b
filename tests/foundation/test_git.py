"""Queries to git: answers, their absence, and programs that a repository names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpuregress.foundation import git


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


def test_a_command_that_fails_has_its_message(repository: Path) -> None:
    reply = git.ask(repository, "rev-parse", "--verify", "nowhere")
    assert reply is not None
    assert (reply.code, reply.output) == (128, b"")
    assert "Needed a single revision" in reply.message


def test_contents_are_read_as_they_are_stored(repository: Path) -> None:
    (repository / ".gitattributes").write_text("* filter=shout text=auto eol=crlf\n")
    run(repository, "config", "filter.shout.smudge", f"touch {repository}/was-run; tr a-z A-Z")
    tree = (git.answer(repository, "ls-tree", "HEAD") or "").split()
    with git.ObjectReader(repository) as reader:
        assert reader.read("0" * 40) is None
        assert reader.read(tree[2]) == b"text"
        assert reader.read(tree[2]) == b"text"
    assert not (repository / "was-run").exists()


def test_a_reader_without_a_repository_reads_nothing(tmp_path: Path) -> None:
    with git.ObjectReader(tmp_path) as reader:
        assert reader.read("0" * 40) is None


def test_the_checked_out_commit(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run(repository, "checkout", "-q", "-b", "side/branch")
    commit = (git.answer(repository, "rev-parse", "HEAD") or "").strip()
    assert git.work_tree_state(repository) == git.WorkTreeState(commit, "side/branch", is_dirty=False)
    (repository / "new").write_text("not tracked")
    (repository / "file").touch()
    assert git.work_tree_state(repository) == git.WorkTreeState(commit, "side/branch", is_dirty=False)
    (repository / "file").write_text("other")
    assert git.work_tree_state(repository) == git.WorkTreeState(commit, "side/branch", is_dirty=True)
    run(repository, "checkout", "-q", "-f", "--detach")
    assert git.work_tree_state(repository) == git.WorkTreeState(commit, "", is_dirty=False)
    folder = tmp_path_factory.mktemp("empty")
    assert git.work_tree_state(folder) == git.WorkTreeState()
    run(folder, "init", "-q", "-b", "main")
    assert git.work_tree_state(folder) == git.WorkTreeState("", "main", is_dirty=False)


@pytest.mark.parametrize("key", ["filter.a.b.clean", "filter.a.b.process", "core.fsmonitor"])
def test_the_checked_out_commit_is_asked_for_without_programs(repository: Path, key: str) -> None:
    program = repository / "program"
    program.write_text(f"#!/bin/sh\ntouch {repository}/was-run\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=a.b\n")
    run(repository, "config", key, str(program))
    run(repository, "config", "filter.a.b.required", "true")
    (repository / "file").write_text("next")  # as long as before: git must read it
    assert git.work_tree_state(repository).is_dirty
    assert not (repository / "was-run").exists()
    if key.startswith("filter"):
        subprocess.run(["git", "-C", str(repository), "status"], check=False, capture_output=True)
        assert (repository / "was-run").exists()  # the test can fail


def test_without_a_repository_git_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "ask", lambda *_, **__: pytest.fail("git was started"))
    assert git.work_tree_state(tmp_path) == git.WorkTreeState()
    (tmp_path / ".git").mkdir()
    with pytest.raises(pytest.fail.Exception):
        git.work_tree_state(tmp_path)
