from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import HarnessError, UsageError
from gpuregress.session import repository
from gpuregress.session.repository import Repository
from tests.lab.revisions.git_projects import commit, git, start


@pytest.fixture
def root(tmp_path: Path) -> Path:
    start(tmp_path)
    (tmp_path / "a").write_text("1")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/b c\n").write_text("b")
    commit(tmp_path, "One")
    (tmp_path / "a").write_text("2")
    commit(tmp_path, "Two: é\x1b[31m")
    return tmp_path


def test_words_that_name_a_commit(root: Path) -> None:
    found = repository.require(root / "d")
    head = git(root, "rev-parse", "HEAD").strip()
    assert found.root == root.resolve()
    for word in ("HEAD", "main", head, head[:7], f"g{head[:8]}", "refs/heads/main", "@"):
        assert found.resolve(word) == head
    assert found.resolve("HEAD~1") == git(root, "rev-parse", "HEAD~1").strip()


@pytest.mark.parametrize("word", ["", "-h", "--all", "nowhere", "HEAD~9", "HEAD..HEAD", "HEAD\nHEAD", "a", "1.4"])
def test_words_that_name_none(root: Path, word: str) -> None:
    assert repository.require(root).resolve(word) is None


def test_a_word_with_several_meanings_is_refused(root: Path) -> None:
    git(root, "tag", "twice")
    git(root, "branch", "twice", "HEAD~1")
    found = repository.require(root)
    with pytest.raises(UsageError, match="write refs/heads/twice or refs/tags/twice"):
        found.resolve("twice")
    assert found.resolve("refs/heads/twice") == found.resolve("HEAD~1")


def test_the_facts_of_a_commit(root: Path) -> None:
    found = repository.require(root)
    facts = found.commit(found.resolve("HEAD~1") or "")
    assert (facts.author, facts.subject, facts.hash[: len(facts.short)]) == ("A. Author", "One", facts.short)
    assert str(facts) == f"{facts.short} {facts.date[:10]} One"
    with pytest.raises(HarnessError, match="cannot read the commit"):
        found.commit("0" * 40)


def test_changed_files_of_a_first_commit_a_later_one_and_a_merge(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "side", "HEAD~1")
    (root / "s").write_text("s")
    commit(root, "Side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "-m", "Merge", "side")
    found = repository.require(root)
    changed = {word: found.changed_files(found.resolve(word) or "") for word in ("HEAD", "HEAD~1", "HEAD~2")}
    assert changed == {"HEAD": ("s",), "HEAD~1": ("a",), "HEAD~2": ("a", "d/b c\n")}


def test_the_order_of_a_bisection_covers_merged_branches(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "side", "HEAD~1")
    side = commit(root, "Side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "-m", "Merge", "side")
    found = repository.require(root)
    good, two, merge = (found.resolve(word) or "" for word in ("HEAD~2", "HEAD~1", "HEAD"))
    assert set(found.between([good], merge)) == {two, side, merge}
    assert set(found.between([good, two], merge)) == {side, merge}
    assert found.between([merge], merge) == ()
    assert found.merge_bases(two, side) == (good,)
    assert found.is_ancestor(good, side)
    assert not found.is_ancestor(two, side)
    with pytest.raises(HarnessError):
        found.between([good], "0" * 40)


def test_files_of_a_commit_with_a_submodule(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    inner = tmp_path_factory.mktemp("inner")
    start(inner)
    (inner / "h").write_text("header")
    commit(inner, "Inner")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    commit(root, "Add lib")
    found = repository.require(root)
    head = found.resolve("HEAD") or ""
    files, notes = found.entries(head)
    assert notes == ()
    assert files["lib/h"].repository == (root / "lib").resolve()
    git(root, "submodule", "deinit", "-q", "-f", "lib")
    files, notes = found.entries(head)
    assert set(files) == {"a", "d/b c\n", ".gitmodules"}
    assert "the submodule lib at" in notes[0]


def test_outside_of_any_repository(tmp_path: Path) -> None:
    assert repository.find(tmp_path) is None
    with pytest.raises(UsageError, match="is in no git repository that can be read: not a git repository"):
        repository.require(tmp_path)
    with pytest.raises(HarnessError):
        Repository(tmp_path).entries("HEAD")


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="git cannot be run"):
        repository.require(tmp_path)
