from __future__ import annotations

import fcntl
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.runner.axes import shared_references
from gpuregress.execution.runner.axes.shared_references import SharedReferences, SharedResult
from gpuregress.foundation import usermodules
from gpuregress.foundation.records import Buffer, Case, Dump, Fill, NoOptions
from gpuregress.gpu.records import replace
from tests import fakes
from tests.waiting import wait_until

CASE = fakes.case("double", parameters={"n": 8, "tile": 4})
OTHER = fakes.case("double", parameters={"n": 8, "tile": 16}, name="fake/other")
RESULT = SharedResult({"out": Dump("out", "/runs/r/references/a/out.1", "float32", (8,), "00", "11")})


def never() -> SharedResult:
    raise AssertionError("computed again")


def store(folder: Path, waiting: Callable[[], None] = lambda: None) -> SharedReferences:
    return SharedReferences(folder, waiting)


def test_a_result_is_computed_once(tmp_path: Path) -> None:
    assert store(tmp_path).once("key", CASE, lambda: RESULT) == (RESULT, True)
    assert store(tmp_path).once("key", OTHER, never) == (RESULT, False)
    assert store(tmp_path).once("another", OTHER, lambda: RESULT) == (RESULT, True)


def test_a_result_holds_for_cases_in_which_what_it_saw_is_the_same(tmp_path: Path) -> None:
    by_n, by_tile = replace(RESULT, seen=("parameters.n",)), replace(RESULT, seen=("parameters.n", "parameters.tile"))
    assert store(tmp_path).once("n", CASE, lambda: by_n) == (by_n, True)
    assert store(tmp_path).once("n", OTHER, never) == (by_n, False)
    assert store(tmp_path).once("tile", CASE, lambda: by_tile) == (by_tile, True)
    assert store(tmp_path).once("tile", OTHER, lambda: by_tile) == (by_tile, True)
    assert store(tmp_path).once("tile", CASE, never) == (by_tile, False)
    assert store(tmp_path).once("tile", OTHER, never) == (by_tile, False)


def test_what_is_not_final_is_computed_again(tmp_path: Path) -> None:
    failed = SharedResult(errors={"out": "raised"}, is_final=False)
    assert store(tmp_path).once("key", CASE, lambda: failed) == (failed, True)
    assert store(tmp_path).once("key", CASE, lambda: RESULT) == (RESULT, True)


def test_a_changed_file_of_the_users_code_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    code = tmp_path / "reference.py"
    code.write_text("one")
    made = replace(RESULT, files={str(code): usermodules.stamp(str(code))})
    assert store(tmp_path).once("key", CASE, lambda: made) == (made, True)
    assert store(tmp_path).once("key", CASE, never) == (made, False)
    code.write_text("another one")
    assert store(tmp_path).once("key", CASE, lambda: RESULT) == (RESULT, True)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rounded": 3}', "not json"])
def test_a_damaged_result_is_computed_again(tmp_path: Path, text: str) -> None:
    store(tmp_path).once("key", CASE, lambda: RESULT)
    (path,) = (tmp_path / "key" / "results").iterdir()
    path.write_text(text)
    assert store(tmp_path).once("key", CASE, lambda: RESULT) == (RESULT, True)


def test_an_error_of_the_computation_frees_its_lock(tmp_path: Path) -> None:
    def fail() -> SharedResult:
        raise ValueError("a kernel")

    with pytest.raises(ValueError, match="a kernel"):
        store(tmp_path).once("key", CASE, fail)
    assert store(tmp_path).once("key", CASE, lambda: RESULT) == (RESULT, True)


def _compute(folder: Path, case: Case, seen: tuple[str, ...]) -> None:
    def slowly() -> SharedResult:
        (folder / f"computed-{os.getpid()}").touch()
        wait_until((folder / "go").exists)
        return replace(RESULT, seen=seen)

    store(folder, (folder / f"waits-{os.getpid()}").touch).once("key", case, slowly)


@pytest.mark.parametrize(("seen", "times"), [((), 1), (("parameters.n",), 1), (("parameters.tile",), 2)])
def test_workers_wait_for_the_one_that_computes(tmp_path: Path, seen: tuple[str, ...], times: int) -> None:
    """The second learns only from the first what a computation looks at."""
    fork = multiprocessing.get_context("fork")
    first = fork.Process(target=_compute, args=(tmp_path, CASE, seen))
    first.start()
    wait_until(lambda: bool(list(tmp_path.glob("computed-*"))))
    second = fork.Process(target=_compute, args=(tmp_path, OTHER, seen))
    second.start()
    wait_until(lambda: bool(list(tmp_path.glob("waits-*"))))
    (tmp_path / "go").touch()
    for process in (first, second):
        process.join(20)
        assert process.exitcode == 0
    assert len(list(tmp_path.glob("computed-*"))) == times


def test_a_killed_worker_leaves_its_turn_to_the_next(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_compute, args=(tmp_path, CASE, ()))
    process.start()
    wait_until(lambda: bool(list(tmp_path.glob("computed-*"))))
    process.kill()
    process.join(20)
    assert store(tmp_path).once("key", CASE, lambda: RESULT) == (RESULT, True)


def test_patience_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_references, "PATIENCE_S", 0.05)
    store(tmp_path).once("key", CASE, lambda: replace(RESULT, is_final=False))
    (lock,) = (tmp_path / "key").glob("lock-*")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        begun = time.monotonic()
        assert store(tmp_path).once("key", CASE, lambda: RESULT) == (RESULT, True)
        assert time.monotonic() - begun < 20


KERNEL = fakes.case("double")
BUFFERS = tuple(KERNEL.buffers.values())


def kernels_key(tmp_path: Path, **changes: Any) -> str:
    ptx = tmp_path / "kernel.ptx"
    if not ptx.exists():
        ptx.write_text(".visible .entry double() { ret; }")
    values: dict[str, Any] = {
        "names": ["out"],
        "program": replace(fakes.program(), ptx=str(ptx)),
        "launches": KERNEL.launches,
        "buffers": BUFFERS,
        "inputs": {"x": "00"},
        "device": fakes.FakeDevice.info,
    }
    return shared_references.kernels_key(**{**values, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"launches": tuple(replace(one, grid=(2, 1, 1)) for one in KERNEL.launches)},
        {"buffers": tuple(replace(one, shape=(9,)) for one in BUFFERS)},
        {"buffers": tuple(replace(one, dtype="int32") for one in BUFFERS)},
        {"inputs": {"x": "01"}},
        {"inputs": {}},
        {"names": ["out", "x"]},
        {"device": replace(fakes.FakeDevice.info, arch="sm_80")},
        {"device": replace(fakes.FakeDevice.info, name="cuda:0")},
    ],
)
def test_all_that_decides_a_trusted_kernel_is_in_its_key(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert kernels_key(tmp_path) != kernels_key(tmp_path, **changes)


def test_the_code_decides_a_trusted_kernel_not_its_file(tmp_path: Path) -> None:
    before = kernels_key(tmp_path)
    assert before == kernels_key(
        tmp_path, buffers=tuple(replace(one, fill=Fill("ones", NoOptions(), 7)) for one in BUFFERS)
    )
    (tmp_path / "kernel.ptx").write_text(".visible .entry double() { exit; }")
    assert kernels_key(tmp_path) != before


def test_all_that_decides_a_function_is_in_its_key() -> None:
    def key(function: str = "/a.py:f", buffer: Buffer = BUFFERS[1], digest: str = "00") -> str:
        return shared_references.function_key(function, buffer, KERNEL.buffers, {"x": digest})

    orders = [
        shared_references.function_key("/a.py:f", BUFFERS[1], KERNEL.buffers, dict.fromkeys(names, "00"))
        for names in (("x", "out"), ("out", "x"))
    ]
    assert orders[0] != orders[1]  # a function may take the first of its inputs
    keys = [key(), key("/a.py:g"), key(buffer=replace(BUFFERS[1], shape=(4,))), key(digest="01")]
    assert len(set(keys)) == 4
