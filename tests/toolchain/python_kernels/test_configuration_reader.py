from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.toolchain.python_kernels.configuration_reader import entries


class dtype:  # noqa: N801 - Triton's
    __module__ = "triton.language.core"
    name = "fp16"


def config(warps: int, **constants: Any) -> SimpleNamespace:
    return SimpleNamespace(kwargs=constants, num_warps=warps, num_stages=3, num_ctas=1, maxnreg=None)


def module(*configs: SimpleNamespace) -> ModuleType:
    made = ModuleType("kernels")
    tuned = SimpleNamespace(configs=list(configs), fn=SimpleNamespace())
    made.k = SimpleNamespace(fn=tuned)  # type: ignore[attr-defined] # below @triton.heuristics
    made.plain = SimpleNamespace()  # type: ignore[attr-defined] # as above
    return made


def test_entries_once_each() -> None:
    found = entries(
        module(config(4, A=64, B=True, C=None, D=SimpleNamespace(value=2)), config(8, A=64), config(8, A=64)), "k"
    )
    settings = {"num_stages": 3, "num_ctas": 1, "maxnreg": None}
    assert found == [
        {"constants": {"A": 64, "B": True, "C": None, "D": 2}, "settings": {"num_warps": 4, **settings}},
        {"constants": {"A": 64}, "settings": {"num_warps": 8, **settings}},
    ]


def test_types_are_named() -> None:
    assert entries(module(config(4, T=dtype())), "k")[0]["constants"] == {"T": "tl.fp16"}


def test_what_is_no_list_of_configurations() -> None:
    with pytest.raises(CompileError, match=r"k: A=\[1\] of a triton.Config cannot be a parameter of a case"):
        entries(module(config(4, A=[1])), "k")
    for name in ("plain", "nobody"):
        with pytest.raises(CompileError, match=f"{name} has no configurations of @triton.autotune"):
            entries(module(), name)
