"""`gpuregress run --changed`: the jobs that are made of a file which differs from a commit."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gpuregress.toolchain.python_kernels import autotuning
from gpuregress.toolchain.python_kernels.autotuning import Configuration
from tests.lab.revisions import git_projects
from tests.workshop import JOB, KERNEL, Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1")
REFERENCE = """
import helper
def twice(inputs, case):
    return helper.factor * inputs["x"]
"""


@pytest.fixture
def project(fake_shop: Workshop) -> Workshop:
    """Two jobs with a header in common, one of them with a header, a reference and an input file of its own."""
    fake_shop.write("gpuregress.yaml", "")
    fake_shop.write(".gitignore", "runs/\n__pycache__/\n")
    fake_shop.write("kernels/scale.cu", f'#include "both.cuh"\n{KERNEL}')
    fake_shop.write("kernels/other.cu", f'#include "both.cuh"\n#include "one.cuh"\n{KERNEL}')
    for name in ("both", "one", "unused"):
        fake_shop.write(f"kernels/{name}.cuh", "// a header\n")
    fake_shop.write("configs/reference.py", REFERENCE)
    fake_shop.write("configs/helper.py", "factor = 2\n")
    fake_shop.write("configs/x.txt", "1\n" * 100)
    fake_shop.write("configs/verify.py", "def equal(expected, actual):\n    return (expected == actual).all()\n")
    other = JOB.replace("scale.cu", "other.cu").replace("fill: arange", "fill: {file: x.txt}")
    judged = "reference: {out: 'reference.py:twice'}\nverify: {out: 'verify.py:equal'}\n"
    fake_shop.write("configs/other.yaml", f"{other}{judged}")
    git_projects.start(fake_shop.root)
    git_projects.commit(fake_shop.root, "Begin")
    return fake_shop


def chosen(shop: Workshop, *more: str) -> list[str]:
    done = shop.call(*RUN, *(more or ("--changed",)), "--json", "-")
    if done.exit_code == 0 and "nothing was run" in done.stderr:
        return []
    return sorted({case["job"] for case in json.loads(done.stdout)["cases"]})


@pytest.mark.parametrize(
    ("file", "jobs", "is_committed"),
    [
        ("README.md", [], True),
        ("kernels/unused.cuh", [], False),
        ("kernels/one.cuh", ["other"], False),
        ("kernels/both.cuh", ["other", "scale"], True),
        ("kernels/scale.cu", ["scale"], False),
        ("configs/scale.yaml", ["scale"], True),
        ("configs/helper.py", ["other"], False),
        ("configs/x.txt", ["other"], True),
        ("configs/verify.py", ["other"], False),
        ("baselines/scale/n=100/baseline.yaml", ["scale"], False),
        ("gpuregress.yaml", ["other", "scale"], False),
    ],
)
def test_a_job_is_run_if_a_file_of_it_differs(
    project: Workshop, file: str, jobs: list[str], *, is_committed: bool
) -> None:
    path = project.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}\n" if file.endswith(".txt") else f"{before}# changed\n".replace("# c", "// c"))
    if path.suffix in (".yaml", ".py"):
        path.write_text(f"{before}# changed\n")
    if is_committed:
        git_projects.git(project.root, "checkout", "-q", "-b", "topic")
        git_projects.commit(project.root, "Change a file")
    assert chosen(project) == jobs


PAIR = """
import triton
import triton.language as tl
from left import A
from right import B

@triton.jit
def first(x):
    tl.store(x, A)

@triton.jit
def second(x):
    tl.store(x, B)
"""
OF_PAIR = """
source: ../kernels/pair.py:{}
language: triton
signature: {{x: "*fp32"}}
buffers: {{x: {{dtype: float32, shape: [1]}}}}
launches: [{{grid: [1], args: [x]}}]
"""


def test_kernels_of_one_python_file_are_made_of_different_modules(project: Workshop) -> None:
    texts = {"pair": PAIR, "left": "import triton.language as tl\nA = tl.constexpr(1)\n", "right": "B = nothing\n"}
    for name, text in texts.items():
        project.write(f"kernels/{name}.py", text)
    for name in ("first", "second"):
        project.write(f"configs/{name}.yaml", OF_PAIR.format(name))
    git_projects.commit(project.root, "Add kernels in Python")
    project.write("kernels/right.py", "B = no_value\n")
    assert chosen(project) == ["second"]


TUNED = """
import triton
import triton.language as tl
from choices import CONFIGS

@triton.autotune(configs=CONFIGS, key=[])
@triton.jit
def tuned(x, BLOCK: tl.constexpr):
    tl.store(x, BLOCK)
"""


def test_the_list_of_an_autotuner_counts(project: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = Configuration("tuned", {"BLOCK": 1}, {"num_warps": 1, "num_stages": 3})
    monkeypatch.setattr(autotuning, "configurations", lambda _path, _function, _arch: (configuration,))
    project.write("kernels/pair.py", TUNED)
    project.write("kernels/choices.py", "CONFIGS = []\n")
    project.write("configs/tuned.yaml", OF_PAIR.format("tuned"))
    git_projects.commit(project.root, "Add an autotuned kernel")
    assert chosen(project) == []
    project.write("kernels/choices.py", "CONFIGS = [1]\n")
    assert chosen(project) == ["tuned"]


def test_a_macro_that_reads_the_clock_makes_its_own_job_unknown(project: Workshop) -> None:
    project.write("configs/timed.yaml", JOB.replace("source:", "compile: {defines: {AT: {text: __TIME__}}}\nsource:"))
    git_projects.commit(project.root, "Compile the time into a kernel")
    assert chosen(project) == ["timed"]


def test_what_is_gone_counts_where_it_is_named(project: Workshop) -> None:
    (project.root / "kernels/unused.cuh").unlink()
    assert chosen(project) == []
    (project.root / "kernels/one.cuh").unlink()
    assert chosen(project) == ["other"]


def test_a_compilation_database_counts_where_it_is_in_git(project: Workshop) -> None:
    project.write("gpuregress.yaml", "compile: {commands: build/compile_commands.json}\n")
    path = project.write("build/compile_commands.json", "[]")
    git_projects.commit(project.root, "Add the database")
    assert chosen(project, "--changed", "HEAD") == []
    path.write_text("[ ]")
    assert chosen(project, "--changed", "HEAD") == ["other", "scale"]
    git_projects.git(project.root, "rm", "-q", "--cached", "build/compile_commands.json")
    project.write(".gitignore", "runs/\nbuild/\n__pycache__/\n")
    git_projects.commit(project.root, "Ignore the database")
    project.write("kernels/one.cuh", "// changed\n")
    said = project.call(*RUN, "--changed", "HEAD").stdout
    assert "left out: scale; what changed in compile_commands.json, which is not in git, counts for no job" in said


def test_files_that_cannot_be_told_count_as_changed(project: Workshop) -> None:
    project.write("kernels/scale.cu", f"#define HEADER <both.cuh>\n#include HEADER\n{KERNEL}")
    git_projects.commit(project.root, "Include by a macro")
    assert chosen(project) == ["scale"]


def test_what_was_left_out_is_said_and_nothing_is_no_failure(project: Workshop) -> None:
    first = git_projects.git(project.root, "rev-parse", "HEAD")[:7]
    nothing = project.call(*RUN, "--changed")
    assert nothing.exit_code == 0
    assert nothing.stderr == (
        f"gpuregress: no file of 2 selected jobs differs from {first}, which is in main: nothing was run\n"
    )
    project.write("kernels/scale.cu", f"// changed\n{KERNEL}")
    said = project.call(*RUN, "--changed", "HEAD")
    assert f"note: --changed: 1 of 2 jobs may differ from HEAD ({first}); left out: other" in said.stdout


@pytest.mark.parametrize(
    ("prepare", "arguments", "message"),
    [
        (lambda _root: None, ("--changed", "scale"), "git knows no commit 'scale'; jobs stand before this option"),
        (
            lambda root: git_projects.git(root, "branch", "-m", "topic"),
            ("--changed",),
            "there is no branch origin/main, origin/master, main, master to compare with: name a commit",
        ),
        (
            lambda root: (
                git_projects.git(root, "checkout", "-q", "--orphan", "topic")
                + git_projects.commit(root, "Another beginning")
            ),
            ("--changed",),
            "this clone has no commit that HEAD and main have in common; fetch more of the history",
        ),
    ],
    ids=["a job in place of a commit", "no main branch", "no common history"],
)
def test_a_commit_that_cannot_be_found(
    project: Workshop, prepare: Callable[[object], object], arguments: tuple[str, ...], message: str
) -> None:
    prepare(project.root)
    assert message in project.fails(2, *RUN, *arguments)


def test_outside_of_a_repository(fake_shop: Workshop) -> None:
    assert "is in no git repository" in fake_shop.fails(2, *RUN, "--changed")


def test_what_git_does_not_watch_counts_as_changed(project: Workshop) -> None:
    project.write(".gitignore", "runs/\n__pycache__/\none.cuh\n")
    git_projects.git(project.root, "rm", "-q", "--cached", "kernels/one.cuh")
    git_projects.commit(project.root, "Ignore a header")
    assert chosen(project, "--changed=HEAD") == ["other"]
    git_projects.git(project.root, "add", "-f", "kernels/one.cuh")
    git_projects.commit(project.root, "Add it")
    assert chosen(project, "--changed=HEAD") == []
    git_projects.git(project.root, "update-index", "--assume-unchanged", "kernels/one.cuh")
    project.write("kernels/one.cuh", "// changed\n")
    assert chosen(project, "--changed=HEAD") == ["other"]


def test_symbolic_links_count_with_what_they_lead_to(project: Workshop) -> None:
    root = project.root
    for folder in ("v1", "v2"):
        project.write(f"{folder}/one.cuh", "// a header\n")
        project.write(f"{folder}/x.txt", "1\n" * 100)
    (root / "latest").symlink_to("v1")
    for file in ("kernels/one.cuh", "configs/x.txt"):
        (root / file).unlink()
        (root / file).symlink_to(f"../latest/{(root / file).name}")
    git_projects.commit(root, "Link")
    assert chosen(project, "--changed=HEAD") == []
    for file in ("v1/one.cuh", "v1/x.txt"):
        before = (root / file).read_text()
        project.write(file, f"{before}\n")
        assert chosen(project, "--changed=HEAD") == ["other"], file
        project.write(file, before)
    for link, target in (("kernels/one.cuh", "../v2/one.cuh"), ("latest", "v2")):
        target_before = (root / link).readlink()
        (root / link).unlink()
        (root / link).symlink_to(target)
        assert chosen(project, "--changed=HEAD") == ["other"], link
        (root / link).unlink()
        (root / link).symlink_to(target_before)


def test_repositories_below_count_and_run_no_program(project: Workshop) -> None:
    root, inner = project.root, project.root / "vendor"
    header = "both.cuh"
    project.write("kernels/other.cu", f'#include "both.cuh"\n#include "../vendor/{header}"\n{KERNEL}')
    git_projects.commit(root, "Use a library")
    git_projects.start(inner)
    project.write(f"vendor/{header}", "// a header\n")
    git_projects.commit(inner, "Begin")
    assert chosen(project, "--changed=HEAD") == ["other"], "no submodule yet"
    git_projects.git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./vendor", "vendor")
    git_projects.commit(root, "Add a submodule")
    assert chosen(project, "--changed=HEAD") == []
    spy = root / "runs/spy"
    git_projects.git(inner, "config", "filter.spy.clean", f"touch {spy}; cat")
    (inner / ".git/info/attributes").write_text("* filter=spy\n")
    project.write(f"vendor/{header}", "// A header\n")
    assert chosen(project, "--changed=HEAD") == ["other"]
    assert not spy.exists()


def test_a_git_that_cannot_tell_is_no_answer(project: Workshop) -> None:
    project.write("README.md", "Kernels\n")
    git_projects.commit(project.root, "Add a README")
    tree = git_projects.git(project.root, "rev-parse", "HEAD~1^{tree}").strip()
    (project.root / ".git/objects" / tree[:2] / tree[2:]).unlink()  # as in a partial clone
    assert "git cannot compare the commits" in project.fails(2, *RUN, "--changed=HEAD~1")
    (project.root / ".git/index").write_text("damaged")
    assert "git cannot compare the files of" in project.fails(2, *RUN, "--changed=HEAD")


def test_a_wrong_job_counts_as_changed(project: Workshop) -> None:
    project.write("configs/scale.yaml", "source: [")
    git_projects.commit(project.root, "Break a job")
    assert "configs/scale.yaml:" in project.fails(2, *RUN, "--changed")
    project.write("kernels/one.cuh", "// changed\n")
    assert chosen(project) == ["other", "scale"]


def test_shards_without_a_change_leave_runs_that_merge_to_a_pass(project: Workshop) -> None:
    for number in (1, 2):
        done = project.call(*RUN, "--changed=HEAD", "--shard", f"{number}/2")
        assert done.exit_code == 0, done.output
        assert "differs from HEAD" in done.output
    done = project.call("report", "--merge", str(project.root / "runs"), "--report", f"junit={project.root / 'j.xml'}")
    assert (done.exit_code, "0 cases in" in done.output) == (0, True), done.output
    first, _ = sorted(path.parent.name for path in (project.root / "runs").glob("2*/results.json"))
    done = project.call("report", "--merge", first, "-o", str(project.root / "p.html"))
    assert (done.exit_code, "of 2 missing" in done.output) == (4, True), done.output
