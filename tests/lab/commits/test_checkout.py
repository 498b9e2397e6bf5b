from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import HarnessError
from gpuregress.lab.revisions import commit_runs, repository
from gpuregress.lab.revisions.commit_runs import Checkout
from tests.lab.commits.git_projects import commit, everything, git, start

Tree = dict[str, str]


def files(folder: Path) -> Tree:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write(root: Path, tree: Tree) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        if ".git" not in path.relative_to(root).parts:
            path.rmdir() if path.is_dir() else path.unlink()
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


TREES = st.sampled_from(
    [{"a": "1"}, {"a": "2", "b": "1"}, {"a/b": "1"}, {"a/b/c": "1", "d": "2"}, {"a/b": "2", "d/e": "3"}, {}]
)


@settings(max_examples=8)
@given(st.lists(TREES, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_folder_holds_what_the_commit_holds(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Tree], order: object
) -> None:
    root, scratch = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("scratch")
    start(root)
    hashes = []
    for tree in trees:
        write(root, tree)
        hashes.append(commit(root, "x"))
    before = everything(root)
    made = Checkout(repository.require(root), scratch)
    for number in [*range(len(trees)), *reversed(range(len(trees)))]:
        assert made.switch(hashes[number]) == ()
        assert files(made.folder) == trees[number]
        made.lay("a.laid/x", b"laid")
    assert everything(root) == before


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    start(root)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "data").mkdir()
    (root / "data/x").write_text("x")
    (root / "link").symlink_to("data/x")
    return root


def made(root: Path, scratch: Path) -> Checkout:
    scratch.mkdir()
    return Checkout(repository.require(root), scratch)


def test_links_and_modes(root: Path, tmp_path: Path) -> None:
    name = commit(root, "x")
    there = made(root, tmp_path / "scratch")
    there.switch(name)
    assert (there.folder / "link").readlink() == Path("data/x")
    assert os.access(there.folder / "run.sh", os.X_OK)
    assert there.folder.name == name[:12]


def test_filters_and_hooks_do_not_run(root: Path, tmp_path: Path) -> None:
    (root / ".gitattributes").write_text("* filter=shout\n")
    name = commit(root, "x")
    program = f"touch {tmp_path}/was-run; cat"
    git(root, "config", "filter.shout.smudge", program)
    git(root, "config", "core.fsmonitor", program)
    hook = root / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{program}\n")
    hook.chmod(0o755)
    there = made(root, tmp_path / "scratch")
    there.switch(name)
    assert (there.folder / "data/x").read_text() == "x"
    assert not (tmp_path / "was-run").exists()


def test_a_file_laid_over_the_commit_is_gone_with_the_next_one(root: Path, tmp_path: Path) -> None:
    name = commit(root, "x")
    there = made(root, tmp_path / "scratch")
    there.switch(name)
    there.lay("data/x", b"laid")
    there.lay("link", b"no link")
    there.lay_tree("data/tree", root / "data")
    assert (there.folder / "data/x").read_text() == "laid"
    assert (there.folder / "data/tree/x").read_text() == "x"
    there.lay_tree("data/tree", None)
    assert not (there.folder / "data/tree").exists()
    there.switch(name)
    assert (there.folder / "data/x").read_text() == "x"
    assert (there.folder / "link").is_symlink()


def test_a_large_file_is_taken_from_this_machine_or_told(root: Path, tmp_path: Path) -> None:
    content = b"large"
    digest = hashlib.sha256(content).hexdigest()
    (root / "big").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 5\n")
    name = commit(root, "x")
    there = made(root, tmp_path / "scratch")
    (note,) = there.switch(name)
    assert note == f"big of {name[:9]}: in Git LFS and not on this machine: `git lfs fetch` gets them"
    stored = root / f".git/lfs/objects/{digest[:2]}/{digest[2:4]}/{digest}"
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"cut")
    again = made(root, tmp_path / "again")
    assert len(again.switch(name)) == 1
    stored.write_bytes(content)
    third = made(root, tmp_path / "third")
    assert third.switch(name) == ()
    assert (third.folder / "big").read_bytes() == content


def test_a_content_that_the_clone_lacks_is_told(root: Path, tmp_path: Path) -> None:
    name = commit(root, "x")
    blob = git(root, "rev-parse", "HEAD:data/x").strip()
    (root / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    (note,) = made(root, tmp_path / "scratch").switch(name)
    assert note.startswith(f"data/x of {name[:9]}: not in this clone")


def test_nothing_is_written_through_a_link_of_the_commit(root: Path, tmp_path: Path) -> None:
    (root / "out").symlink_to(tmp_path)
    name = commit(root, "x")
    there = made(root, tmp_path / "scratch")
    there.switch(name)
    with pytest.raises(HarnessError, match="below a symbolic link"):
        there.lay("out/escaped", b"x")
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ".git/config", "a/.GIT/config", "a//b", "./a"])
def test_paths_that_a_tree_should_not_hold(path: str) -> None:
    assert not commit_runs._is_safe(path)
