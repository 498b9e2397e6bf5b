from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import prerequisites
from gpuregress.execution.runner.axes import twins
from gpuregress.execution.runner.axes.twins import CauseTrial, HostFailed, HostTwin
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import HarnessError, KernelFault
from gpuregress.foundation.records import (
    Buffer,
    Case,
    CaseSettings,
    FunctionArgument,
    FunctionCall,
    FurtherRun,
    Limits,
    Outcome,
    Source,
)
from gpuregress.gpu.records import replace
from gpuregress.toolchain.functions import declarations, host, overloads
from tests import fakes
from tests.fakes import FakeDevice


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second device, on which the kernels are the same."""

    @contextlib.contextmanager
    def opened(name: str) -> Iterator[FakeDevice]:
        yield fakes.open_device(name)

    monkeypatch.setattr(registry, "open_device", opened)
    monkeypatch.setattr(prerequisites, "usable_gpus", lambda: 1)


def run(folder: Path, kernel: str) -> Outcome:
    case = replace(fakes.case(kernel), settings=CaseSettings(twins=("cuda",)))
    return run_case(fakes.open_device("fake"), fakes.task(case, folder))


def only(outcome: Outcome) -> FurtherRun:
    (twin,) = outcome.observations.along("twin")
    return twin


@pytest.mark.usefixtures("other")
def test_a_twin_runs_the_same_launches_and_is_logged(tmp_path: Path) -> None:
    outcome = run(tmp_path, "double")
    twin = only(outcome)
    assert twin.dumps["out"].digest == outcome.dumps[0].digest
    assert Path(twin.dumps["out"].path).parts[-5:-3] == ("twins", "cuda")
    assert twin.facts.label.endswith(")")
    log = (tmp_path / "launch.log").read_text()
    assert [line.split()[1] for line in log.splitlines() if line.startswith("begin")] == ["1", "2"]


class _Faulty(FakeDevice):
    def launch(self, *_: object) -> NoReturn:
        raise KernelFault("trap", "it trapped", sticky=True)


def test_a_fault_of_the_twin_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "open_device", lambda _name: contextlib.nullcontext(_Faulty()))
    monkeypatch.setattr(prerequisites, "usable_gpus", lambda: 1)
    outcome = run(tmp_path, "double")
    assert (outcome.state, outcome.fault, outcome.observations.sticky) == ("done", None, True)
    assert only(outcome).fault == "failed with trap: it trapped"
    assert only(outcome).dumps == {}


def test_a_machine_without_a_gpu_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "usable_gpus", lambda: 0)
    monkeypatch.setattr(prerequisites, "lack", lambda: "no driver")
    twin = only(run(tmp_path, "double"))
    assert (twin.left_out, twin.dumps) == ("there is no GPU here: no driver", {})


# --- causes of a difference from the host -----------------------------------------------------------------------------

FLOAT = {"y": dtypes.parse("float32")}
HOST = {"y": np.array([1, 2, 3, 4], np.float32)}


def results(*values: float) -> dict[str, np.ndarray]:
    return {"y": np.array(values, np.float32)}


def test_each_element_is_explained_by_the_first_trial_that_agrees() -> None:
    trials = [
        CauseTrial("fma", "fused", lambda: results(1, 2, 9, 9)),
        CauseTrial("fast math", "fast", lambda: results(1, 2, 3, 9)),
        CauseTrial("fma", "host", host=lambda: results(1, 8, 8, 8)),
    ]
    (causes,) = twins.explain(FLOAT, results(1, 8, 8, 7), HOST, trials, ()).values()
    assert [(cause.pattern, round(3 * cause.weight)) for cause in causes] == [
        ("fma", 1),
        ("fast math", 1),
        ("unexplained", 1),
    ]
    assert causes[0].message == "fused (1 of 3 differing elements)"


def test_the_library_is_named_for_what_no_trial_explains() -> None:
    (causes,) = twins.explain(FLOAT, results(1, 2, 3, 5), HOST, [], ("sinf", "expf")).values()
    assert [cause.pattern for cause in causes] == ["library"]
    assert "likely the library: it calls sinf and expf" in causes[0].message


def test_trials_end_when_all_is_explained() -> None:
    trials = [CauseTrial("fma", "", lambda: dict(HOST)), CauseTrial("fma", "", lambda: pytest.fail("not needed"))]
    assert twins.explain(FLOAT, results(0, 0, 0, 0), HOST, trials, ("sinf",))["y"][0].weight == 1.0
    assert twins.explain(FLOAT, dict(HOST), HOST, trials, ()) == {}


def test_any_nan_equals_any_nan_and_zeros_have_signs() -> None:
    bits = np.array([0x7FC00000, 0, 0x3F800000], np.uint32).view(np.float32)
    other = np.array([0xFFFFFFFF, 0x80000000, 0x3F800000], np.uint32).view(np.float32)
    assert twins.differing(dtypes.parse("float32"), bits, other).tolist() == [False, True, False]


def test_records_differ_in_any_part() -> None:
    element = dtypes.parse("{a:int8,b:float32}")
    one, other = (np.zeros(3, element.storage) for _ in range(2))
    other["b"][1] = 1
    assert twins.differing(element, one, other).tolist() == [False, True, False]


def test_options() -> None:
    options = ("--use_fast_math", "-lineinfo", "--fmad=true")
    assert twins.is_fast(options)
    assert twins.without_fast_math(options) == ("-lineinfo",)
    assert twins.without_contraction(options) == ("--use_fast_math", "-lineinfo", "--fmad=false")
    assert not twins.is_fast(("-lineinfo",))


pytestmark = pytest.mark.skipif(host.find_compiler() is None, reason="there is no C++ compiler")
SOURCE = """\
#include <signal.h>
#include <unistd.h>
__host__ __device__ int f(int x)
{
    if (x == 2) return *(volatile int*)8;
    while (x == 3) pause();
    if (x == 4) _exit(5);
    if (x == 6) kill(getpid(), 9);
    return 10 * x;
}
"""
X = FunctionArgument("x", "int", "buffer", each=True)


def twin(folder: Path, *values: int, timeout: float = 30) -> HostTwin:
    path = folder / "f.cu"
    path.write_text(SOURCE)
    instance = overloads.FunctionInstance(declarations.device_functions([SOURCE])[0])
    call = FunctionCall("f", "f(int)", (X,), len(values), result="result", host=host.program_text(instance, [X]))
    case: Case = replace(
        fakes.case("scale"),
        source=Source(str(path)),
        function=call,
        buffers={name: Buffer(name, "int32", (len(values),)) for name in ("x", "result", "spare")},
        dump=("result", "x", "spare"),
        limits=Limits(timeout=timeout),
    )
    compiler = host.find_compiler()
    assert compiler is not None
    return HostTwin(case, compiler, folder, {"x": np.array(values, np.int32)})


def test_results_and_what_the_function_does_not_touch(tmp_path: Path) -> None:
    results = twin(tmp_path, 0, 1, 5).results()
    assert results["result"].tolist() == [0, 10, 50]
    assert results["x"].tolist() == [0, 1, 5]
    assert set(results["spare"].reshape(-1).tolist()) == {0x7FFD7FFD}


@pytest.mark.parametrize(
    ("value", "timeout", "message"),
    [
        (2, 30, "crashed with SIGSEGV"),
        (3, 0.5, r"did not end within its limit of 0\.5 s"),
        (4, 30, "ended with exit code 5"),
    ],
)
def test_a_function_that_fails_takes_nothing_with_it(tmp_path: Path, value: int, timeout: float, message: str) -> None:
    with pytest.raises(HostFailed, match=message):
        twin(tmp_path, 1, value, timeout=timeout).results()


def test_a_kill_from_outside_is_no_failure_of_the_function(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="died of SIGKILL: it was killed from outside"):
        twin(tmp_path, 1, 6).results()
