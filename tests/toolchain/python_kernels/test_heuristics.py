from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import PythonKernel
from gpuregress.toolchain.python_kernels import autotuning

KERNEL = PythonKernel("triton", "k", settings={"num_warps": 4}, arguments={"x": (6, 8), "n": 6, "bias": None})


def decorated(*layers: dict[str, Any]) -> Any:
    function: Any = SimpleNamespace(params=())
    for values in reversed(layers):
        function = SimpleNamespace(values=values, fn=function)
    return SimpleNamespace(configs=[], fn=function)


def test_values_from_arguments_constants_settings_and_outer_heuristics() -> None:
    outer = {
        "EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
        "BIAS": lambda args: args["bias"] is not None,
        "WARPS": lambda args: args["num_warps"],
        "WIDE": lambda args: (args["x"].stride(0), args["x"].numel(), args["x"].data_ptr() % 16),
        "GIVEN": lambda _args: 1 / 0,
    }
    inner = {"TWICE": lambda args: 2 * args["WARPS"]}
    found = autotuning.values(decorated(outer, inner), KERNEL, {"BLOCK": 4, "GIVEN": 3})
    assert found == {"EVEN": False, "BIAS": False, "WARPS": 4, "WIDE": (8, 48, 0), "TWICE": 8}


def test_a_heuristic_that_fails_names_itself() -> None:
    message = r"k: @triton.heuristics of 'A' failed with AttributeError: .*dtype.*; its value can be given in constants"
    with pytest.raises(CompileError, match=message):
        autotuning.values(decorated({"A": lambda args: args["x"].dtype}), KERNEL, {})


def test_a_kernel_without_any() -> None:
    assert autotuning.values(decorated(), KERNEL, {}) == {}
