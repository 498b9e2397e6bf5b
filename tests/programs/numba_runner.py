"""Run unit tests and write down what becomes of each, line by line, so that a process that is killed loses nothing.

    python numba_runner.py RECORD TEST…

It runs in the environment of the tests, and imports nothing of gpuregress. Each line of RECORD is JSON: an event
(`list`, `start`, `pass`, `skip`, `fail`), the test's name, and a reason.
"""

# ruff: noqa: N802 - the names of the methods are those of unittest
from __future__ import annotations

import importlib
import json
import sys
import types
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SKIPPED = "Skipped"
"""The exception of `pytest.importorskip`, which is no `unittest.SkipTest`."""


class FunctionTest(unittest.FunctionTestCase):
    """A test that is a function of a module, as pytest takes it."""

    def __init__(self, name: str, function: Any) -> None:
        super().__init__(function)
        self._name = name

    def id(self) -> str:
        return self._name


class RecordingResult(unittest.TestResult):
    """A result that appends each event to a file before the next one."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def write(self, event: str, test: Any, reason: str = "") -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([event, test.id(), reason]) + "\n")

    def startTest(self, test: Any) -> None:
        self.write("start", test)

    def addSuccess(self, test: Any) -> None:
        self.write("pass", test)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.write("pass", test)

    def addSkip(self, test: Any, reason: str) -> None:
        self.write("skip", test, reason)

    def addFailure(self, test: Any, err: Any) -> None:
        event = "skip" if err[0].__name__ == _SKIPPED else "fail"
        self.write(event, test, f"{err[0].__name__}: {err[1]}")

    def addError(self, test: Any, err: Any) -> None:
        self.addFailure(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.write("fail", test, "unexpected success")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.addFailure(test, err)


def _tests(suite: Any) -> Iterator[Any]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _tests(item)
        else:
            yield item


def _load(name: str) -> Iterator[Any]:
    """Load the tests of a name; a module of pytest has functions and no classes."""
    owner, _, last = name.rpartition(".")
    function = getattr(sys.modules.get(owner), last, None)
    if isinstance(function, types.FunctionType):
        yield FunctionTest(name, function)
        return
    tests = [*_tests(unittest.defaultTestLoader.loadTestsFromName(name))]
    yield from tests
    if not tests:
        functions = vars(sys.modules[name]).items()
        names = [key for key, value in functions if key.startswith("test") and isinstance(value, types.FunctionType)]
        for key in names:
            yield from _load(f"{name}.{key}")


def main(path: Path, names: list[str]) -> None:
    result = RecordingResult(path)
    try:
        for name in names:
            importlib.import_module(".".join(name.split(".")[:5]))
        suite = unittest.TestSuite(test for name in names for test in _load(name))
    except BaseException as error:
        if type(error).__name__ != _SKIPPED:
            raise
        result.write("list", FunctionTest(names[0], None))
        result.write("skip", FunctionTest(names[0], None), str(error))
        return
    for test in suite:
        result.write("list", test)
    suite.run(result)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
