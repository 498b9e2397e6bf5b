from __future__ import annotations

import platform

import pytest

from gpuregress.foundation.records import Program
from gpuregress.gpu.records import replace
from gpuregress.session.runs import log_header
from tests import fakes
from tests.session.selections import CPU, GPU


def test_the_head_tells_the_programs_compiler_and_the_card() -> None:
    card = {"name": "NVIDIA X", "uuid": "GPU-1", "driver": "580.1", "throttle": "none"}
    program = replace(fakes.program(), compiler="nvrtc 13.5.37")
    devices = replace(GPU, cards={"cuda:1": card})
    actual = log_header.facts([fakes.case("double")], devices, [program, program])
    assert actual["compiler"] == "nvrtc 13.5.37"
    assert actual["cuda:1"] == "NVIDIA X, GPU-1, driver 580.1, clocks not held back"
    assert actual["seed of fake"] == "42"
    assert "seed of fake.x" in actual
    assert "seed of fake.out" not in actual


def test_the_system_is_named_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert log_header.facts([], CPU, [])["host"].split(", ")[1] == platform.platform()
    monkeypatch.setattr(platform, "system", lambda: "Plan 9")
    monkeypatch.setattr(platform, "platform", lambda: "Plan-9")
    assert log_header.facts([], CPU, [])["host"].split(", ")[1] == "Plan-9"


def _program(compiler: str) -> Program:
    return replace(fakes.program(), compiler=compiler)


def test_several_compilers_are_all_named() -> None:
    actual = log_header.facts([], CPU, [_program("nvrtc 13.5.37"), _program("ptx as given")])
    assert actual["compiler"] == "nvrtc 13.5.37, ptx as given"


def test_cases_of_other_seeds_have_lines_of_their_own() -> None:
    first = fakes.case("double", name="fake/n=1")
    second = replace(first, name="fake/n=2", seed=7)
    actual = log_header.facts([first, second], CPU, [])
    assert (actual["seed of fake/n=1"], actual["seed of fake/n=2"]) == ("42", "7")
    assert {"seed of fake/n=1.x", "seed of fake/n=2.x"} <= actual.keys()
    assert "seed of fake" not in actual
