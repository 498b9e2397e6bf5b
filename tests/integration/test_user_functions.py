"""Python functions of a job that hang, crash or print: bounded by the case's limits, and its own verdict only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.workshop import Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1", "--timeout", "1")
FUNCTIONS = """
import ctypes, os, time
import numpy as np

def agrees(expected, actual, case):
    return bool((expected == actual).all())

def hangs(*_):
    time.sleep(60)

def crashes(*_):
    print("about to read address 0", flush=True)
    ctypes.string_at(0)

def leaves(*_):
    os._exit(7)

def fill(shape, dtype, seed):
    time.sleep(60)
"""


def only_case(shop: Workshop, *arguments: str) -> dict[str, Any]:
    shop.call(*RUN, *arguments)
    (case,) = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    actual: dict[str, Any] = case
    return actual


@pytest.fixture
def shop(fake_shop: Workshop) -> Workshop:
    fake_shop.write("configs/mine.py", FUNCTIONS)
    return fake_shop


def with_key(shop: Workshop, key: str) -> None:
    shop.write("configs/scale.yaml", (shop.root / "configs/scale.yaml").read_text() + key)


def test_a_verify_function_is_asked_in_a_process_of_its_own(shop: Workshop) -> None:
    with_key(shop, "verify: {out: mine.py:agrees}\n")
    shop.call(*RUN)
    assert shop.call("accept").exit_code == 0
    assert shop.call(*RUN).exit_code == 0
    shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    with_key(shop, "verify: {out: mine.py:agrees}\n")
    case = only_case(shop)
    assert (case["verdict"], case["reason"]) == ("differ", "out: agrees returned False")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("hangs", "mine.py:hangs did not return within 1 s"),
        ("crashes", "mine.py:crashes: the process it ran in died of SIGSEGV"),
        ("leaves", "mine.py:leaves: the process it ran in ended with exit code 7"),
    ],
)
def test_a_check_that_does_not_come_back_fails_its_case_and_no_other(
    shop: Workshop, function: str, message: str
) -> None:
    shop.job(name="other")
    with_key(shop, f"checks: {{out: [{{python: mine.py:{function}}}]}}\n")
    shop.call(*RUN)
    cases = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    assert {case["case"]: case["verdict"] for case in cases} == {"other/n=100": "new", "scale/n=100": "differ"}
    reason = next(case["reason"] for case in cases if case["job"] == "scale")
    assert message in reason


def test_two_checks_that_crash_are_both_told(shop: Workshop) -> None:
    with_key(shop, "checks: {out: [{python: mine.py:leaves}, {python: mine.py:leaves}]}\n")
    (buffer,) = only_case(shop)["buffers"]
    assert [entry["same"] for entry in buffer["comparisons"]] == [False, False]


def test_a_reference_that_hangs_is_the_cases_error(shop: Workshop) -> None:
    with_key(shop, "reference: {out: mine.py:hangs}\n")
    case = only_case(shop)
    assert case["verdict"] == "error"
    assert case["reason"] == "a Python function of the job (mine.py:hangs) did not return within 1 s"


def test_a_reference_that_crashes_is_the_cases_error(shop: Workshop) -> None:
    with_key(shop, "reference: {out: mine.py:crashes}\n")
    case = only_case(shop)
    assert (case["verdict"], case["exit_code"]) == ("error", 3)
    assert "died of SIGSEGV in a Python function of the job (mine.py:crashes)" in case["reason"]


def test_a_fill_that_hangs_is_the_cases_error(shop: Workshop) -> None:
    shop.job(("fill: arange", "fill: {python: mine.py:fill}"))
    case = only_case(shop)
    assert case["reason"] == "a Python function of the job (mine.py:fill) did not return within 1 s"
    assert case["exit_code"] == 3


FORKS = """
import os, threading, time
import numpy as np

def agrees(expected, actual, case):
    return bool((expected == actual).all())

def forks(actual, *_):
    os.fork()
    return True

def keeps_a_thread(actual, *_):
    def later():
        time.sleep(0.3)
        os._exit(9)
    threading.Thread(target=later).start()
    return True

def writes_everywhere(actual, *_):
    for number in range(3, 64):
        try:
            os.write(number, b'{"comparison": {}}\\n[1]')
        except OSError:
            pass
    return True

def closes_everything(actual, *_):
    os.closerange(3, 65536)
    return True

def slowly(actual, *_):
    time.sleep(0.5)
    return bool((actual > 1e30).all()), "not so large"

def forked_fill(shape, dtype):
    os.fork()
    return np.arange(shape[0], dtype=dtype)

def neighbour_fill(shape, dtype):
    import neighbour
    return np.full(shape, neighbour.VALUE, dtype)
"""

GOLD = """
def gold(inputs, case):
    import neighbour
    return np.full(100, 2.0 * neighbour.VALUE, np.float32)
"""


@pytest.mark.parametrize("function", ["forks", "keeps_a_thread", "writes_everywhere", "closes_everything"])
def test_what_a_check_leaves_behind_answers_for_no_other_case(shop: Workshop, function: str) -> None:
    """The check of the second case, which is slow, says no: whatever the first one left must not say yes for it."""
    shop.write("configs/mine.py", FORKS)
    shop.job(name="a_first")
    shop.job(name="second")
    for job, called in (("a_first", function), ("second", "slowly")):
        path = shop.root / f"configs/{job}.yaml"
        path.write_text(path.read_text() + f"checks: {{out: [{{python: mine.py:{called}}}]}}\n")
    shop.call(*RUN[:-1], "20", "a_first", "second")
    cases = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    words = {case["job"]: (case["verdict"], case["reason"]) for case in cases}
    assert words["second"][0] == "differ"
    assert "not so large" in words["second"][1]
    assert words["a_first"][0] == ("differ" if function == "closes_everything" else "new")


def test_a_fill_that_forks_runs_its_case_once(shop: Workshop) -> None:
    shop.write("configs/mine.py", FORKS)
    shop.job(("fill: arange", "fill: {python: mine.py:forked_fill}"))
    case = only_case(shop)
    assert case["verdict"] == "new"
    log = (shop.root / "runs/latest/launch.log").read_text()
    assert log.count("\nbegin ") == 1


def test_folders_of_one_run_have_their_own_neighbours(shop: Workshop) -> None:
    for name, value in (("a", 1), ("b", 2)):
        shop.write(
            f"configs/{name}/mine.py",
            FORKS + GOLD,
        )
        shop.write(f"configs/{name}/neighbour.py", f"VALUE = {value}\n")
        shop.job(
            ("fill: arange", "fill: {python: mine.py:neighbour_fill}"),
            ("../kernels", "../../kernels"),
            name=f"{name}/{name}",
        )
        path = shop.root / f"configs/{name}/{name}.yaml"
        path.write_text(path.read_text() + "reference: {out: mine.py:gold}\n")
    shop.call(*RUN[:-1], "20", "a", "b")
    cases = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    assert {case["job"]: case["verdict"] for case in cases} == {"a": "pass", "b": "pass"}
    dumps = {path.parts[-3]: path.read_text() for path in (shop.root / "runs/latest/dumps").rglob("out.*")}
    assert dumps["a"] != dumps["b"]
