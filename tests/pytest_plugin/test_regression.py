"""Fixture kernel_regression in sessions of pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pytest_plugin import inside, outside

TESTS = """
import numpy as np
import pytest

SHIFT = 0.0

@pytest.mark.parametrize("n", [3, 5])
def test_scaled(kernel_regression, n):
    y = np.arange(n, dtype=np.float32) + np.float32(SHIFT)
    kernel_regression.check(y=y, counts=[n, 2 * n], rtol=1e-5)

def test_options(kernel_regression):
    x = np.arange(4.0)
    kernel_regression.check({"a b": x, "z": x}, order="any", rules={"z": {"atol": 0.5}})
    kernel_regression.check({"x": x[::2]}, basename="second")
"""
WRONG = """
import numpy as np

def test_none(kernel_regression):
    kernel_regression.check()

def test_twice(kernel_regression):
    kernel_regression.check(x=[1.0], basename="second")
    kernel_regression.check(x=[1.0], basename="second")
    kernel_regression.check(x=[2.0], basename="second")

def test_objects(kernel_regression):
    kernel_regression.check(x=[None])

def test_loose(kernel_regression):
    kernel_regression.check(x=[1.0], rtol=2)

def test_keys(kernel_regression):
    kernel_regression.check(x=[1.0], rules={"x": {"tol": 2}})

def test_unknown(kernel_regression):
    kernel_regression.check(x=[1.0], rules={"y": {"rtol": 0.1}})
"""


def test_baselines_are_written_compared_and_accepted(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    test = tmp_path / "test_sum.py"
    test.write_text(TESTS)
    code, text = inside.run(tmp_path, scratch)
    assert (code, "3 failed" in text) == (1, True), text
    assert "no baseline yet; written, see whether it is right:\n  test_sum/test_scaled_3_.y.dump" in text
    names = sorted(path.name for path in (tmp_path / "test_sum").iterdir())
    assert names == [
        "test_options.a_b.dump", "test_options.z.dump", "test_scaled_3_.counts.dump", "test_scaled_3_.y.dump",
        "test_scaled_5_.counts.dump", "test_scaled_5_.y.dump",
    ]  # fmt: skip
    assert (tmp_path / "test_sum/test_scaled_3_.y.dump").read_text() == "# gpuregress 1 float32 [3]\n0.0\n1.0\n2.0\n"
    code, text = inside.run(tmp_path, scratch)
    assert "1 failed, 2 passed" in text  # the second check of test_options is reached now
    assert inside.run(tmp_path, scratch)[0] == 0
    test.write_text(TESTS.replace("SHIFT = 0.0", "SHIFT = 0.25").replace("counts=", "numbers="))
    code, text = inside.run(tmp_path, scratch, "-k", "scaled and 3")
    assert code == 1
    assert "y (baseline): 3 of 3 differ" in text
    assert "looks like: " in text
    assert "rule: |actual - baseline| <= " in text
    assert "test_sum/test_scaled_3_.counts.dump is a baseline of an array that the test does not give" in text
    assert "to accept it: pytest --gpuregress-accept" in text
    assert "numbers" in text
    code, text = inside.run(tmp_path, scratch, "--force-regen", "-k", "5")
    assert (code, "--force-regen: written anew" in text) == (1, True)
    code, text = inside.run(tmp_path, scratch, "--gpuregress-accept")
    assert code == 0, text
    assert not (tmp_path / "test_sum/test_scaled_3_.counts.dump").exists()
    assert inside.run(tmp_path, scratch)[0] == 0


def test_a_check_that_means_nothing_is_refused(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "test_wrong.py").write_text(WRONG)
    code, text = inside.run(tmp_path, tmp_path_factory.mktemp("scratch"), "--gpuregress-accept")
    assert (code, "6 failed" in text) == (1, True), text
    for words in (
        "kernel_regression: no array is given",
        "x (baseline): 1 of 1 differ",
        "another check has the same name: give it a basename= of its own",
        "x: its dtype is object: a kernel cannot read Python objects",
        "rtol of x is 2: it must be below 1",
        "rules['x']: unknown tol; the keys are rtol, atol, ulp, nan, order",
        "rules for y, which is not given",
    ):
        assert words in text
    assert "Traceback" not in text
    assert "During handling" not in text


SAME_NAME = """
class TestFirst:
    def test_sum(self, kernel_regression):
        kernel_regression.check(x=[1.0])

class TestSecond:
    def test_sum(self, kernel_regression):
        kernel_regression.check(x=[2.0])
"""


def test_a_test_never_replaces_the_baselines_of_another_one(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    (tmp_path / "test_same.py").write_text(SAME_NAME)
    code, text = inside.run(tmp_path, scratch, "--gpuregress-accept")
    assert (code, "1 failed, 1 passed" in text) == (1, True), text
    assert "another check has the same name: give it a basename= of its own" in text
    assert (tmp_path / "test_same/test_sum.x.dump").read_text() == "# gpuregress 1 float64 [1]\n1.0\n"


PUNCTUATION = """
import pytest

@pytest.mark.parametrize("n", ["a-1", "a.1", "a/1", "a 1"])
def test_id(kernel_regression, n):
    kernel_regression.check(x=[float(ord(n[1]))])
"""


def test_processes_of_xdist_know_each_others_baselines(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tmp_path / "test_same.py").write_text(SAME_NAME)
    (tmp_path / "test_ids.py").write_text(PUNCTUATION)
    # Without the short summary, which has the whole messages once more where CI is set.
    accept = ("--gpuregress-accept", "-n", "2", "--dist", "each", "--maxprocesses", "2", "-rN")
    code, text = outside.run(tmp_path, tmp_path_factory.mktemp("scratch"), *accept, fake=False)
    # Each process runs every test: both own the same ones, and the second class of the name owns nothing.
    assert (code, text.count("another check has the same name"), "2 failed, 10 passed" in text) == (1, 2, True), text
    assert (tmp_path / "test_same/test_sum.x.dump").read_text() == "# gpuregress 1 float64 [1]\n1.0\n"
    names = ["test_id_a%201_.x.dump", "test_id_a%2f1_.x.dump", "test_id_a-1_.x.dump", "test_id_a.1_.x.dump"]
    assert sorted(path.name for path in (tmp_path / "test_ids").iterdir()) == names
