from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.runner.axes.host_twin import HostFailed, HostTwin
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.records import Buffer, Case, FunctionArgument, FunctionCall, Limits, Source
from gpuregress.gpu.records import replace
from gpuregress.toolchain.functions import declarations, host, overloads
from tests import fakes

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
