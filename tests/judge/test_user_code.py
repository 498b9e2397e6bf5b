"""Functions of the user in a process of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.execution.workers.worker_process import Worker
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Check, Fill, PythonFunction, Rule
from gpuregress.gpu.records import replace
from gpuregress.judge import user_code
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.user_code import UserCodeProcess
from tests import fakes
from tests.judge.dumps import dump

FUNCTIONS = """\
import os, time
def same(expected, actual, case): return expected.shape == actual.shape, f'as {case.name}'
def hangs(array, case): time.sleep(60)
def dies(array, case): os._exit(7)
def killed(array, case): os.kill(os.getpid(), 9)
def good(array, case): return bool((array > 0).all())
def process(array, case): return False, str(os.getpid())
def patches(array, case):
    import numpy
    numpy.all = lambda *_, **__: True
    return process(array, case)
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FUNCTIONS)
    return path


@pytest.fixture(scope="module")
def process() -> Iterator[UserCodeProcess]:
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        yield user


def test_a_comparison_and_a_check(process: UserCodeProcess, module: Path, tmp_path: Path) -> None:
    case, out = fakes.case("double"), dump(tmp_path, "out.1", [1, 2])
    other = dump(tmp_path / "b", "out.1", [1, 3])
    compared = process.compare(BufferPair(case, "baseline", other, out, Rule(verify=f"{module}:same")))
    assert (compared.same, compared.message, compared.changed) == (True, "as fake/double", 1)
    assert process.check(Check("python", f"{module}:good"), case, out).same


def test_a_process_has_code_of_one_folder_that_leaves_nothing_behind(
    process: UserCodeProcess, module: Path, tmp_path: Path
) -> None:
    other, case, out = tmp_path / "other" / "mine.py", fakes.case("double"), dump(tmp_path, "out.1", [1, 2])
    other.parent.mkdir()
    other.write_text(FUNCTIONS)
    calls = (module, "process"), (other, "process"), (module, "patches"), (module, "process")
    numbers = [process.check(Check("python", f"{file}:{name}"), case, out).message for file, name in calls]
    assert [numbers.index(number) for number in numbers] == [0, 1, 0, 3]


def test_a_function_that_hangs_or_dies_fails_alone(process: UserCodeProcess, module: Path, tmp_path: Path) -> None:
    case, out = fakes.case("double", timeout=0.5), dump(tmp_path, "out.1", [1, 2])
    hung = process.check(Check("python", f"{module}:hangs"), case, out)
    assert (hung.same, hung.of, hung.message) == (False, 2, "mine.py:hangs did not return within 0.5 s")
    died = process.check(Check("python", f"{module}:dies"), fakes.case("double"), out)
    assert died.message.startswith("mine.py:dies: the process it ran in ")
    with pytest.raises(HarnessError, match=r"mine.py:killed: the process it ran in died of SIGKILL: it was killed"):
        process.check(Check("python", f"{module}:killed"), fakes.case("double"), out)
    assert process.unanswered == 3
    assert process.check(Check("python", f"{module}:good"), fakes.case("double"), out).same


def test_a_damaged_answer_is_none(
    process: UserCodeProcess, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_arguments: object) -> None:
        raise HarnessError("a damaged message")

    out, before = dump(tmp_path, "out.1", [1, 2]), process.unanswered
    with monkeypatch.context() as patch:
        process._started(user_code._folders(fakes.case("double"), f"{module}:good"))
        patch.setattr(Worker, "next_message", damaged)
        failed = process.check(Check("python", f"{module}:good"), fakes.case("double"), out)
    assert (failed.same, failed.message, process.unanswered) == (False, "mine.py:good: a damaged message", before + 1)


def test_checks_that_need_the_process() -> None:
    case = fakes.case("double")
    assert user_code.needs(case, Check("python", "/v.py:f"))
    assert not user_code.needs(case, Check("finite"))
    x = case.buffers["x"]
    made = fakes.case("double", buffers={"x": replace(x, fill=Fill("python", PythonFunction("/x.py:f"), 1))})
    assert user_code.needs(made, Check("equals", "x"))
