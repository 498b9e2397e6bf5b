"""Fixture kernel_regression in sessions of pytest."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
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
REFUSED = {
    "x=X, rtoll=1e-3": "rtoll=0.001 is not a keyword of check; did you mean rtol?",
    "x=X, Rtol=np.float64(1e-3)": "did you mean rtol?",
    "x=X, u_lp=[1]": "u_lp=[1] is not a keyword of check; did you mean ulp?",
    "x=X, eps=1e-3": "eps=0.001 is not a keyword of check. Values to compare are in the mapping: check({'eps': …})",
    "x=X, exact=None": "exact=None is not a keyword of check",
    "x=X, data_index=[0, 1]": "data_index is a keyword of pytest-regressions; leave it out",
    "x=X, default_tolerance={'atol': 1}": "default_tolerance is a keyword of pytest-regressions; write rtol=…, atol=…",
    "x=X, tolerance={'x': {'atol': 1}}": "tolerance is not a keyword of check; tolerances is a keyword of",
    "{'x': X}, 'name'": "check takes one mapping; write basename=… and rules=… as keywords",
    "X": "the first argument is of type ndarray; expected a mapping",
    "{'x': X}, x=X": "x is given twice, in the mapping and by its name",
    "{1: X}": "1 is not the name of an array",
    "x=X, nan='nevr'": "nan is 'nevr'; expected equal or never",
    "x=X, rtol='1e-3'": "rtol is '1e-3'; expected a number",
    "x=X, rules={'x': 1e-3}": "rules['x']: 0.001; expected a mapping",
    "x=X, rules=[1]": "rules is [1]; expected a mapping",
    "x=X, basename='../x'": "basename is '../x'; expected the name of a file below",
    "s=np.zeros(1, [('a_0', 'i4'), ('a', 'i4', 1)])": "its dtype has two fields that become a_0: rename one",
    "s=np.zeros(1, [('a b', 'i4')])": "invalid field name 'a b'",
}
"""Arguments of `check` → what the failure says."""


def test_baselines_are_written_compared_and_accepted(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    test = tmp_path / "test_sum.py"
    test.write_text(TESTS)
    code, text = inside.run(tmp_path, scratch)
    assert (code, "3 failed" in text) == (1, True), text
    assert "no baseline yet; written: check that it is right:\n  test_sum/test_scaled_3_.y.dump" in text
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
    assert "rule: |actual - expected| <= " in text
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


def test_a_keyword_that_is_no_array_is_never_a_baseline(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tests = [f"def test_{at}(kernel_regression): kernel_regression.check({text})" for at, text in enumerate(REFUSED)]
    head = "import numpy as np\nX = np.arange(2.0)"
    taken = "kernel_regression.check({'rtoll': 1e-3}, border=X, tan=X, s=X.sum(), p=[1, 2])"
    tests.append(f"def test_taken(kernel_regression): {taken}")
    (tmp_path / "test_words.py").write_text("\n".join([head, *tests]))
    code, text = inside.run(tmp_path, tmp_path_factory.mktemp("scratch"), "--gpuregress-accept")
    assert (code, f"{len(REFUSED)} failed, 1 passed" in text) == (1, True), text
    parts = re.split(r"^_+ test_\d+ _+$", text, flags=re.MULTILINE)[1:]
    for words, part in zip(REFUSED.values(), parts, strict=True):
        assert words in part
    assert "Traceback" not in text
    names = sorted(path.name.split(".")[1] for path in (tmp_path / "test_words").iterdir())
    assert names == ["border", "p", "rtoll", "s", "tan"]


EARLIER = """
import numpy as np

SHIFT = 0.0

def test_table(kernel_regression):
    x = np.array([0.1, np.nan, np.inf], np.float32) + np.float32(SHIFT)
    kernel_regression.check({"x y": x}, few=np.array([2, 3]), on=[True, False, True], z=[1j, 2j, 3j])

class TestClass:
    def test_archive(self, kernel_regression):
        kernel_regression.check(grid=np.ones((2, 2)) + SHIFT, count=np.int32(7))
"""
TABLE = ",x y,few,on,z\n0,0.10000000149011612,2.0,True,1j\n1,,3.0,False,2j\n2,inf,,True,(0+3j)\n"


@pytest.mark.slow
def test_baselines_of_pytest_regressions_are_the_first_ones(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch, folder = tmp_path_factory.mktemp("scratch"), tmp_path / "test_old"
    test, table, archive = tmp_path / "test_old.py", folder / "test_table.csv", folder / "TestClass_test_archive.npz"
    folder.mkdir()
    table.write_text(TABLE.replace("z\n", "z,gone\n").replace("j\n", "j,1\n").replace("j)\n", "j),1\n"))
    np.savez_compressed(archive, grid=np.ones((2, 2)), count=np.int64(7))
    test.write_text(EARLIER.replace("SHIFT = 0.0", "SHIFT = 0.5"))
    code, text = inside.run(tmp_path, scratch)
    assert (code, "2 failed" in text) == (1, True), text
    for words in (
        "x y (baseline): 1 of 3 differ", "  baseline  test_old/test_table.csv",
        "test_old/test_table.csv has gone, which the test does not give", "grid (baseline): 4 of 4 differ",
        "count: int32 [], the baseline has int64 []", "to accept it: pytest --gpuregress-accept",
    ):  # fmt: skip
        assert words in text
    assert not [*folder.glob("*.dump")]  # a failure makes nothing the baseline
    test.write_text(EARLIER)
    table.write_text(TABLE)
    np.savez_compressed(archive, grid=np.ones((2, 2)), count=np.int32(7))
    code, text = inside.run(tmp_path, scratch)
    assert code == 0, text
    assert "equal to test_old/test_table.csv, which is not read any more: test_old.py::test_table" in text
    assert (folder / "test_archive.count.dump").read_text() == "# gpuregress 1 int32 []\n7\n"
    table.write_text("damaged")
    archive.write_text("damaged")
    assert inside.run(tmp_path, scratch)[0] == 0
    for dump in folder.glob("*.dump"):
        dump.unlink()
    code, text = inside.run(tmp_path, scratch)
    assert (code, "2 failed" in text, "Traceback" in text) == (1, True, False), text
    why = "not readable as a baseline of pytest-regressions: it "
    for words in ("test_table.csv: {}has no columns", "TestClass_test_archive.npz: {}is not a numpy archive"):
        assert words.format(why) in text
    table.write_text(TABLE.replace("2.0", "2.5"))
    np.savez(folder / "test_table.npz", on=np.array([True, False, True]))
    code, text = inside.run(tmp_path, scratch, "-k", "table")
    assert (code, "few: '2.5' is not a value of int64" in text) == (1, True), text
    assert "on is in two baselines of pytest-regressions, test_table.csv and test_table.npz: remove one" in text
    table.write_text("")
    assert f"test_table.csv: {why}has no columns" in inside.run(tmp_path, scratch, "-k", "table")[1]


STRUCTURES = """
import numpy as np

TYPE = np.dtype([("pos", [("x", "f4"), ("y", "f4")]), ("v", "i2", 2), ("c", "c8"), ("on", "?")], align=True)

def test_structures(kernel_regression):
    data = np.zeros(3, TYPE)
    data["pos"]["y"], data["v"][:, 1], data["c"], data["on"] = VALUE, 3, 2j, True
    kernel_regression.check(data=data, first=data[0], rtol=1e-3)
"""


def test_structured_arrays_are_records(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    scratch, test = tmp_path_factory.mktemp("scratch"), tmp_path / "test_struct.py"
    test.write_text(STRUCTURES.replace("VALUE", "7"))
    assert inside.run(tmp_path, scratch, "--gpuregress-accept")[0] == 0
    head, line, *_ = (tmp_path / "test_struct/test_structures.data.dump").read_text().splitlines()
    assert head == "# gpuregress 1 {pos_x:float32,pos_y:float32,v_0:int16,v_1:int16,c:complex64,on:bool} [3]"
    assert line == "0.0 7.0 0 3 0.0 2.0 1"
    test.write_text(STRUCTURES.replace("VALUE", "7.001"))
    assert inside.run(tmp_path, scratch)[0] == 0
    test.write_text(STRUCTURES.replace("VALUE", "[7, 8, 7]"))
    code, text = inside.run(tmp_path, scratch)
    assert (code, "data (baseline): 1 of 3 differ" in text) == (1, True), text


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


@pytest.mark.slow
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
