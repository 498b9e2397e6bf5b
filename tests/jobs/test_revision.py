from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import StorageError
from gpuregress.jobs import revision
from gpuregress.toolchain import include_scanner
from gpuregress.toolchain.include_scanner import SourceInputs


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "kernels" / "k.cu"
    path.parent.mkdir()
    path.write_text('#include "k.h"\n__global__ void k() {}\n')
    (tmp_path / "kernels" / "k.h").write_text("// header\n")
    return path


def label(source: Path) -> str:
    return revision.label([(source, include_scanner.scan(source))])


def git(folder: Path, *arguments: str) -> str:
    options = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("text", "actual"),
    [
        ("// $Revision: 1.266a $\n", "1.266a"),
        ('#define Version "Revision: 1.266a "\n', "1.266a"),
        ('#define  VersionText  "$Revision: 7 $"\n', "7"),
        ("// $Revision$\n", None),
        ("// Revision: 1.2\n", None),
        ('const char* Version = "Revision: 1.2 ";\n', None),
        ("// $Revision: ../../x $\n", None),
        ("// $Revision: a/b $\n", None),
        ("// $Revision: .hidden $\n", None),
    ],
)
def test_keyword(text: str, actual: str | None, source: Path) -> None:
    source.write_text(text)
    assert revision.keyword(source) == actual


def test_without_git_it_is_the_hash_of_all_files(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    first = label(source)
    assert first == include_scanner.scan(source).digest[:8]
    (source.parent / "k.h").write_text("// changed\n")
    assert label(source) != first


def test_git_names_the_last_commit_that_touched_them(source: Path) -> None:
    root = source.parent.parent
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    first = "g" + git(root, "rev-parse", "--short", "HEAD")
    assert label(source) == first
    (root / "other").write_text("x")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "another file")
    assert label(source) == first
    (source.parent / "k.h").write_text("// a header of a later commit\n")
    assert not label(source).startswith("g")
    git(root, "commit", "-q", "-a", "-m", "header")
    assert label(source) == "g" + git(root, "rev-parse", "--short", "HEAD") != first


def test_git_does_not_vouch_for_a_file_it_does_not_know(source: Path) -> None:
    root = source.parent.parent
    git(root, "init", "-q")
    git(root, "add", "kernels/k.cu")
    git(root, "commit", "-q", "-m", "one")
    assert not label(source).startswith("g")


def test_git_runs_nothing_that_a_repository_names(source: Path, tmp_path: Path) -> None:
    root, witness = source.parent.parent, tmp_path / "witness"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\necho "$0 $@" >> {witness}\ncat\n')
    spy.chmod(0o755)
    git(root, "init", "-q")
    git(root, "add", "kernels")
    git(root, "commit", "-q", "-m", "one")
    (root / ".gitattributes").write_text("* filter=spy diff=spy\n")
    for name in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.spy.textconv",
        "diff.spy.command",
        "filter.spy.clean",
        "filter.spy.smudge",
        "filter.spy.process",
        "gpg.program",
        "core.sshCommand",
    ):
        git(root, "config", name, str(spy))
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "pager.log", "true")
    hooks = root / ".git" / "hooks"
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / hook).write_text(spy.read_text())
        (hooks / hook).chmod(0o755)
    source.touch()
    assert label(source).startswith("g")
    assert not witness.exists()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_git_is_not_told_to_overlook_a_change(source: Path, flag: str) -> None:
    root = source.parent.parent
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    git(root, "update-index", flag, "kernels/k.h")
    (source.parent / "k.h").write_text("// changed\n")
    assert not label(source).startswith("g")


def test_git_does_not_vouch_for_what_a_link_means(source: Path) -> None:
    root = source.parent.parent
    (root / "kernels" / "other.h").write_text("// another\n")
    source.with_name("k.h").unlink()
    source.with_name("k.h").symlink_to("other.h")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    assert not label(source).startswith("g")


def test_a_source_whose_text_does_not_tell_is_named_by_its_program() -> None:
    digest = "a" * 64
    first = revision.of_program("1.4", digest, ("-DN=1", b"ptx"))
    assert first == revision.of_program("1.4", digest, ("-DN=1", b"ptx"))
    assert first[0] == "1.4"
    assert first[1] != revision.of_program("1.4", digest, ("-DN=1", b"other"))[1]
    assert first[1] != revision.of_program("1.4", digest, ("-DN=2", b"ptx"))[1]
    assert revision.of_program("aaaaaaaa", digest, (b"ptx",))[0] != "aaaaaaaa"


def test_a_label_stands_for_one_source() -> None:
    assert revision.resolve("1.4", "a" * 64, lambda _: ()) == ("1.4", None)
    assert revision.resolve("1.4", "a" * 64, lambda _: {"a" * 64}) == ("1.4", None)
    name, note = revision.resolve("1.4", "b" * 64, lambda _: {"a" * 64})
    assert name == "1.4+bbbbbb"
    assert note == "revision 1.4 is already recorded for another source text: this one is 1.4+bbbbbb"


def test_the_ledger(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert revision.recorded(tmp_path / "baselines", runs, "job", "1.4") == frozenset()
    revision.record(runs, {("job", "1.4", "a" * 64), ("other", "1.4", "b" * 64)})
    revision.record(runs, {("job", "1.4", "a" * 64), ("job", "1.5", "c" * 64)})
    assert revision.recorded(tmp_path / "baselines", runs, "job", "1.4") == {"a" * 64}
    assert len((runs / revision.LEDGER).read_text().splitlines()) == 3


def test_a_damaged_line_of_the_ledger_counts_as_not_recorded(tmp_path: Path) -> None:
    revision.record(tmp_path, {("job", "1.4", "a" * 64)})
    ledger = tmp_path / revision.LEDGER
    text = ledger.read_text()
    ledger.write_text(text.replace("aaa", "aab", 1))
    assert revision.recorded(tmp_path / "baselines", tmp_path, "job", "1.4") == frozenset()
    ledger.write_text(text.rpartition("\t")[0] + "\n")
    assert revision.recorded(tmp_path / "baselines", tmp_path, "job", "1.4") == frozenset()
    ledger.write_text(text)
    assert revision.recorded(tmp_path / "baselines", tmp_path, "job", "1.4") == {"a" * 64}


def test_a_line_that_a_kill_has_cut_does_not_take_the_next_one_along(tmp_path: Path) -> None:
    revision.record(tmp_path, {("job", "1.4", "a" * 64)})
    ledger = tmp_path / revision.LEDGER
    ledger.write_text(ledger.read_text()[:20])
    revision.record(tmp_path, {("job", "1.5", "b" * 64)})
    assert revision.recorded(tmp_path / "baselines", tmp_path, "job", "1.5") == {"b" * 64}


def test_accepted_baselines_count(tmp_path: Path) -> None:
    from gpuregress.foundation.records import Acceptance, MadeOf  # noqa: PLC0415 - as above
    from gpuregress.store import baselines  # noqa: PLC0415 - the writer of what is read here

    history = (Acceptance("1.4", "a" * 64, "2026-11-20"), Acceptance("1.4+bbbbbb", "b" * 64, "2026-11-21"))
    document = baselines.Manifest(baselines.VERSION, "1.4+bbbbbb", MadeOf("b" * 64), {}, {}, history)
    folder = tmp_path / "baselines" / "job" / "n=4"
    folder.mkdir(parents=True)
    (folder / "baseline.yaml").write_bytes(baselines.render(document))
    for wanted, digests in (("1.4", {"a" * 64}), ("1.4+bbbbbb", {"b" * 64}), ("1.5", set()), ("1", set())):
        assert revision.recorded(tmp_path / "baselines", tmp_path / "runs", "job", wanted) == digests


@given(st.text(max_size=70))
def test_a_label_that_is_taken_is_safe_in_a_file_name(text: str) -> None:
    if revision.problem(text) is None:
        assert text
        assert not set(text) & set('/\\:*?"<>| \n\0')
        assert not text.startswith(".")
        assert len(text) <= 60


def test_git_is_asked_once_for_a_source_that_many_jobs_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "k.cu"
    source.write_text("int x;")
    asked: list[Path] = []

    def label(inputs: SourceInputs) -> str:
        asked.append(inputs.files[0])
        return "g1234567"

    monkeypatch.setattr(revision, "git_label", label)
    labels = revision.Labels()
    assert [labels.of_all([(source, include_scanner.scan(source))]) for _ in range(3)] == ["g1234567"] * 3
    assert len(asked) == 1
    source.write_text("int y;")
    assert labels.of_all([(source, include_scanner.scan(source))]) == "g1234567"
    assert len(asked) == 2


def test_the_ledger_is_read_again_when_it_has_grown(tmp_path: Path) -> None:
    revision.record(tmp_path, {("a", "1.0", "x" * 64)})
    assert revision.recorded(tmp_path, tmp_path, "a", "1.0") == {"x" * 64}
    revision.record(tmp_path, {("a", "1.0", "y" * 64), ("b", "1.0", "z" * 64)})
    assert revision.recorded(tmp_path, tmp_path, "a", "1.0") == {"x" * 64, "y" * 64}


def test_a_pipe_in_the_ledgers_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / revision.LEDGER)
    assert not revision.recorded(tmp_path / "baselines", tmp_path, "job", "1.0")
    with pytest.raises(StorageError, match=r"revisions\.tsv is not a regular file"):
        revision.record(tmp_path, {("job", "1.0", "0" * 64)})
