"""Shrinking on the fake device; real kernels are in tests/integration/test_commits.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import HarnessError, NothingToDo, UsageError
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.shrinking import shrink
from gpuregress.lab.shrinking.shrink import ShrinkRequest, Shrunk
from gpuregress.store import project
from tests.lab.revisions.git_projects import everything, faulting
from tests.workshop import KERNEL, Workshop, accepted

CPU = RunOptions("cpu")
FILES = {"inc": "missing.bin", "x": "x.npz:x", "y": "x{2 * n}.bin", "z": "x{n}.bin", "w": "x{m}.bin"}
MOVED_FILES = {**FILES, "x": "../a/x.npz:x", "y": "../a/x{2 * n}.bin"}
RANGE = "checks: {out: [{range: [0, 100]}]}\n"


def judged(shop: Workshop, more: str = RANGE, *changes: tuple[str, str]) -> None:
    shop.job(("n: [100]", "n: [100, 1000]"), *changes)
    shop.write("configs/scale.yaml", (shop.root / "configs/scale.yaml").read_text() + more)


def shrunk(shop: Workshop, case: str = "scale/n=1000", **more: object) -> Shrunk:
    request = ShrinkRequest(case, options=CPU, **more)  # type: ignore[arg-type]
    return shrink.shrink(project.find(shop.root), request)


def test_the_smallest_parameter_that_fails_a_check(fake_shop: Workshop) -> None:
    judged(fake_shop)
    before = everything(fake_shop.root)
    done = shrunk(fake_shop)
    assert done.changes[0] == "n: 1000 → 52"
    assert (done.stopped, done.path) == ("", None)
    assert "\nparameters:\n  n: [52]\n" in done.text
    assert "# n: 1000 → 52\n" in done.text
    assert everything(fake_shop.root) == before


def test_the_smallest_job_has_no_keys_that_do_not_matter(fake_shop: Workshop) -> None:
    judged(
        fake_shop,
        f"{RANGE}retries: 2\nschedules: 2\nlimits: {{timeout: 20}}\nlaunch_digests: off\ntwins: [cpu, cuda]\n",
    )
    text = shrunk(fake_shop).text
    keys = [line.partition(":")[0] for line in text.splitlines() if line[0] not in "# "]
    assert keys == ["job", "source", "parameters", "buffers", "launches", "checks"]


def test_a_failure_that_is_known_is_shrunk_like_any(fake_shop: Workshop) -> None:
    judged(fake_shop, f"{RANGE}known_failing: {{until: 2099-01-01, why: a bug, status: differ}}\n")
    done = shrunk(fake_shop)
    assert (done.changes[0], "known_failing" in done.text) == ("n: 1000 → 52", False)


def test_the_written_job_fails_where_it_stands(fake_shop: Workshop) -> None:
    judged(fake_shop)
    places = ((fake_shop.root / "configs/small.yaml", 60.0, 52), (fake_shop.root / "elsewhere.yaml", 0.0, 1000))
    for target, limit_s, n in places:
        done = shrunk(fake_shop, target=target, limit_s=limit_s)
        assert done.path == target
        shrink.check_written(project.find(fake_shop.root), done, CPU)
        result = fake_shop.call("run", "--device", "cpu", "-q", str(target))
        assert (result.exit_code, f"differ   scale-shrunk/n={n}" in result.output) == (1, True)
        with pytest.raises(UsageError, match="already exists"):
            shrunk(fake_shop, target=target)
        target.unlink()


@pytest.mark.parametrize(
    ("name", "words"), [("nowhere/small.yaml", "there is no such folder"), ("small.txt", "ends with .yaml")]
)
def test_a_file_that_cannot_be_written_is_refused_before_the_search(shop: Workshop, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        shrunk(shop, target=shop.root / name)


def test_a_written_job_that_does_not_fail_is_our_bug(fake_shop: Workshop) -> None:
    done = Shrunk("scale/n=100", "", fake_shop.root / "configs/scale.yaml", "", (), 0, 0.0)
    with pytest.raises(HarnessError, match="does not fail by itself"):
        shrink.check_written(project.find(fake_shop.root), done, CPU)


def test_a_fault_needs_no_other_judge(fake_shop: Workshop) -> None:
    faulting(fake_shop, ("n: [100]", "n: [100, 1000]"))
    done = shrunk(fake_shop)
    assert "n: [1]" in done.text
    assert done.failure.startswith("out-of-bounds")


def test_what_cannot_be_shrunk(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 1000]"))
    with pytest.raises(NothingToDo, match="does not fail: it has no baseline"):
        shrunk(fake_shop)
    with pytest.raises(UsageError, match="'scale' means 2 cases: name one of them, such as scale/n=100"):
        shrunk(fake_shop, "scale")
    accepted(fake_shop)
    with pytest.raises(NothingToDo, match="scale/n=1000 passes"):
        shrunk(fake_shop)
    fake_shop.job(("n: [100]", "n: [100, 1000]"), ("{float32: 2.0}", "{float32: 3.0}"))
    with pytest.raises(UsageError, match="nothing judges a smaller case"):
        shrunk(fake_shop)
    fake_shop.write("kernels/scale.cu", f"{KERNEL}\nno C++")
    with pytest.raises(UsageError, match="cannot be shrunk: error"):
        shrunk(fake_shop)


def test_no_time_keeps_the_case_as_it_is(fake_shop: Workshop) -> None:
    judged(fake_shop)
    done = shrunk(fake_shop, limit_s=0.0)
    assert (done.stopped, "n: [1000]" in done.text) == ("the time is over", True)
    assert "# A smaller one may exist: the time is over.\n" in done.text


def test_paths_lead_to_the_same_files_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "a/inc").mkdir(parents=True)
    (tmp_path / "k.cu").write_text("")
    for name in ("r.py", "x.npz", "x8.bin"):
        (tmp_path / "a" / name).write_text("")
    job = {
        "source": "../k.cu",
        "compile": {"include": ["inc"], "options": ["-I.."]},
        "reference": {"y": "r.py:f", "z": {"python": "r.py:g"}},
        "buffers": {name: {"fill": {"file": file}} for name, file in FILES.items()},
        "launches": [{"kernel": "k", "args": ["inc", {"float32": 1.5}]}],
    }
    assert shrink.moved(job, tmp_path / "a", tmp_path / "a") is job
    assert shrink.moved(job, tmp_path / "a", tmp_path / "b", {"n": 4}) == {
        **job,
        "source": "../k.cu",
        "compile": {"include": ["../a/inc"], "options": ["-I.."]},
        "reference": {"y": "../a/r.py:f", "z": {"python": "../a/r.py:g"}},
        "buffers": {name: {"fill": {"file": file}} for name, file in MOVED_FILES.items()},
    }
