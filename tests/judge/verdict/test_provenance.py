"""What is said to have changed since the baseline."""

from __future__ import annotations

from typing import Any

import pytest

from gpuregress.gpu.records import replace
from gpuregress.judge.verdict.provenance import changes
from tests.judge.verdict.samples import FACTS


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"inputs": {"x": "aa"}}, "inputs of y changed"),
        ({"seed": 43}, "seed 42 → 43"),
        ({"compiler": "nvrtc 13.5.0"}, "compiler nvrtc 13.4.1 → nvrtc 13.5.0"),
        ({"options": ("-lineinfo", "-use_fast_math")}, "compiler options: +(-use_fast_math)"),
        ({"options": ()}, "compiler options: -(-lineinfo)"),
        ({"contract": "native"}, "contract pinned → native"),
        ({"arch": "sm_80"}, "architecture sm_90 → sm_80"),
        ({"device": "virtual"}, "device H200 → virtual"),
        ({"driver": ""}, "driver 570 → none"),
        ({"driver": "LLVM", "device": "virtual"}, "device H200 → virtual"),
        ({"launches": ("k(1)",)}, "launch 1: k() → k(1)"),
        ({"launches": ("k()", "m()")}, "launches: 1 → 2"),
        ({"source": "0ther"}, "source changed"),
    ],
)
def test_what_changed(change: dict[str, Any], line: str) -> None:
    assert changes(FACTS, replace(FACTS, **change)) == (line,)


def test_an_option_that_every_program_is_given_is_no_change() -> None:
    assert changes(FACTS, replace(FACTS, options=("-lineinfo", "--device-int128"))) == ()


def test_resources_that_changed() -> None:
    before = replace(FACTS, resources={"k": {"registers": 32, "spill": 0}})
    now = replace(FACTS, resources={"k": {"registers": 40, "spill": 0}})
    assert changes(before, now) == ("k: registers 32 → 40",)
    assert changes(FACTS, now) == ()


def test_sources_that_changed_are_named_where_they_are_known() -> None:
    before = replace(FACTS, sources={"a.cu": "1", "b.cu": "2"})
    now = replace(before, source="0ther", sources={"a.cu": "1", "b.cu": "3"})
    assert changes(before, now) == ("source changed: b.cu",)
