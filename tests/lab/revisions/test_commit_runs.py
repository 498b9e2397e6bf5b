from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import HarnessError, UsageError
from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import commit_runs
from gpuregress.lab.revisions.commit_runs import Checkout, CommitRuns, CommitUnusable
from gpuregress.session import accepting, repository
from gpuregress.store import project
from gpuregress.store.baselines import BaselineStore
from tests.lab.revisions.git_projects import commit, everything, factors, git, start
from tests.workshop import KERNEL, RUN, Workshop, accepted

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


def test_all_that_a_job_names_but_its_own_kernels(shop: Workshop) -> None:
    start(shop.root)
    shop.write("kernels/trusted.cu", (shop.root / "kernels/scale.cu").read_text())
    shop.write("configs/reference.py", "def out(inputs, case):\n    return inputs['x']\n")
    shop.write("configs/x.bin", "\0" * 400)
    shop.job(("fill: arange", "fill: {file: x.bin}"))
    text = (shop.root / "configs/scale.yaml").read_text()
    trusted = "{source: ../kernels/trusted.cu, launches: [{kernel: scale, grid: [4], block: [32], args: [out, x, "
    trusted += "{float32: 2.0}, {int32: n}]}]}"
    shop.write("configs/scale.yaml", f"{text}checks: {{out: [{{python: 'reference.py:out'}}]}}\n")
    shop.write("configs/other.yaml", f"{text}reference: {{out: {trusted}}}\n")
    found = repository.require(shop.root)
    cases = [replace(case, tags=("/" + 300 * "a",)) for case in plan.make(project.find(shop.root), []).cases]
    assert set(commit_runs.borrowed_files(found, cases)) == {
        *("configs/scale.yaml", "configs/other.yaml", "configs/reference.py", "configs/x.bin", "kernels/trusted.cu")
    }


CPU = RunOptions("cpu")
CASE = "scale/n=100"


@pytest.fixture
def commits(fake_shop: Workshop) -> list[str]:
    return factors(fake_shop, "2.0", "3.0")


@pytest.fixture
def runs(fake_shop: Workshop, commits: list[str]) -> Iterator[CommitRuns]:
    with commit_runs.opened(repository.require(fake_shop.root), project.find(fake_shop.root), CPU) as opened:
        yield opened


def first_value(summary: RunSummary) -> str:
    (verdict,) = summary.verdicts
    assert verdict.outcome is not None
    return Path(verdict.outcome.dumps[0].path).read_text().splitlines()[2]


def test_each_commit_runs_with_its_own_job(fake_shop: Workshop, commits: list[str], runs: CommitRuns) -> None:
    before = everything(fake_shop.root)
    assert [first_value(runs.run(name, [CASE])) for name in commits] == ["2.0", "3.0"]
    assert runs.case_names(commits[0], ["scale", "other"]) == {CASE}
    assert everything(fake_shop.root) == before


def test_inputs_of_earlier_runs_are_those_of_the_work_tree(
    fake_shop: Workshop, commits: list[str], runs: CommitRuns
) -> None:
    assert fake_shop.call(*RUN, "scale").exit_code == 1
    text = (fake_shop.root / "configs/scale.yaml").read_text()
    fake_shop.write("configs/next.yaml", text.replace("arange", '{file: "run:latest/scale/n={n}/out"}'))
    later = commit(fake_shop.root, "Add a job on the results of the first")
    assert [first_value(runs.run(name, ["next/n=100"])) for name in (later, later)] == ["9.0", "9.0"]


def test_a_borrowed_job_runs_in_every_commit(fake_shop: Workshop, commits: list[str], runs: CommitRuns) -> None:
    fake_shop.job(("{float32: 2.0}", "{float32: 5.0}"))
    runs.borrowed = commit_runs.borrowed_files(
        repository.require(fake_shop.root), plan.make(project.find(fake_shop.root), []).cases
    )
    assert [first_value(runs.run(name, [CASE])) for name in commits] == ["5.0", "5.0"]
    runs.borrowed = {}
    assert first_value(runs.run(commits[1], [CASE])) == "3.0"


def test_a_commit_is_compiled_with_the_build_options_of_the_work_tree(fake_shop: Workshop, commits: list[str]) -> None:
    """A compilation database is in no commit. Its folders in the project are those of the commit."""
    shop = fake_shop
    shop.write(".gitignore", "build\n")
    shop.write("gpuregress.yaml", "compile: {commands: build/compile_commands.json}\n")
    shop.write("inc/a.h", "")
    commits.append(commit(shop.root, "Name the database"))
    shop.write("build/made/b.h", "")
    command = "nvcc -DA=7 -I ../inc -I made"
    entry = {"directory": f"{shop.root}/build", "command": command, "file": "../kernels/scale.cu"}
    shop.write("build/compile_commands.json", json.dumps([entry]))
    found = repository.require(shop.root)
    with commit_runs.opened(found, project.find(shop.root), CPU) as runs:
        for borrowed in ({}, commit_runs.borrowed_files(found, plan.make(project.find(shop.root), []).cases)):
            runs.borrowed = borrowed
            there = runs.switch(commits[-1])
            (case,) = plan.make(there, [CASE]).cases
            assert case.source.defines == {"A": "7"}
            assert case.source.include == (f"{there.root}/inc", f"{shop.root}/build/made")


def test_results_are_judged_against_the_given_baselines(commits: list[str], runs: CommitRuns) -> None:
    first = runs.run(commits[0], [CASE])
    assert [one.status for one in first.verdicts] == ["new"]
    there = runs.switch(commits[0])
    accepted = there.runs.with_name("accepted")
    accepting.accept(replace(there, baselines=accepted))
    statuses = [runs.run(name, [CASE], accepted).verdicts[0].status for name in commits]
    assert statuses == ["pass", "differ"]


def test_a_commit_without_the_case_or_with_a_wrong_job(fake_shop: Workshop, commits: list[str]) -> None:
    fake_shop.write("configs/scale.yaml", "source: ../kernels/scale.cu\nbufers: {}\n")
    wrong = commit(fake_shop.root, "Break the job")
    (fake_shop.root / "configs/scale.yaml").unlink()
    gone = commit(fake_shop.root, "Remove the job")
    fake_shop.write("configs/other.yaml", "")
    here = project.find(fake_shop.root)
    with commit_runs.opened(repository.require(fake_shop.root), here, CPU) as runs:
        with pytest.raises(CommitUnusable, match=r"(?m)^configs/scale.yaml:2: bufers: unknown key"):
            runs.run(wrong, [CASE])
        with pytest.raises(CommitUnusable, match="it has no project"):
            runs.run(gone, [CASE])
        assert runs.case_names(wrong, ["scale"]) == frozenset()
        assert runs.case_names(gone, ["scale"]) == frozenset()
        assert first_value(runs.run(commits[0], [CASE])) == "2.0"


def test_a_project_outside_the_repository(fake_shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    start(other)
    name = commit(other, "x")
    here = project.find(fake_shop.root)
    with commit_runs.opened(repository.require(other), here, CPU) as runs, pytest.raises(UsageError, match="outside"):
        runs.run(name, [CASE])


def test_the_commit_with_the_accepted_source(fake_shop: Workshop) -> None:
    start(fake_shop.root)
    commit(fake_shop.root, "First")
    fake_shop.write("kernels/scale.cu", KERNEL + "// accepted\n")
    accepted(fake_shop)
    wanted = commit(fake_shop.root, "Accept")
    fake_shop.write("kernels/scale.cu", KERNEL + "// later\n")
    commit(fake_shop.root, "Later")
    here = project.find(fake_shop.root)
    (case,) = plan.make(here, []).cases
    baseline = BaselineStore(here.baselines).load(case.name)
    assert baseline is not None
    found = repository.require(fake_shop.root)
    with commit_runs.opened(found, here, RunOptions("cpu")) as runs:
        assert commit_runs.find_accepted(found, runs, case, baseline) == wanted
    fake_shop.write("kernels/scale.cu", KERNEL + "// never committed\n")
    fake_shop.call("run", "--device", "cpu")
    assert fake_shop.call("accept", "scale").exit_code == 0
    baseline = BaselineStore(here.baselines).load(case.name)
    assert baseline is not None
    with commit_runs.opened(found, here, RunOptions("cpu")) as runs:
        assert commit_runs.find_accepted(found, runs, case, baseline) is None
