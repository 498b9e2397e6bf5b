from __future__ import annotations

import dataclasses

import pytest

from gpuregress.devices.cuda import nvml
from gpuregress.records import Program
from gpuregress.session.runs import log_header
from gpuregress.workers.worker_process import DeviceSlot
from tests import fakes
from tests.session.selections import CPU, GPU


def test_the_head_tells_the_programs_compiler_and_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = ({"uuid": "GPU-0"}, {"name": "NVIDIA X", "uuid": "GPU-1", "driver": "580.1", "throttle": "none"})
    monkeypatch.setattr(nvml, "cards", lambda: cards)
    program = dataclasses.replace(fakes.program(), compiler="nvrtc 13.5.37")
    actual = log_header.facts([fakes.case("double")], GPU, [program, program])
    assert actual["compiler"] == "nvrtc 13.5.37"
    assert actual["cuda:1"] == "NVIDIA X, GPU-1, driver 580.1, clocks not held back"
    assert actual["seed of fake"] == "42"
    assert "seed of fake.x" in actual
    assert "seed of fake.out" not in actual
    by_uuid = dataclasses.replace(GPU, slots=(DeviceSlot("cuda:0", "cuda:0", {"CUDA_VISIBLE_DEVICES": "GPU-1"}),))
    assert actual["cuda:1"] == log_header.facts([], by_uuid, [])["cuda:0"]


def _program(compiler: str) -> Program:
    return dataclasses.replace(fakes.program(), compiler=compiler)


def test_several_compilers_are_all_named() -> None:
    actual = log_header.facts([], CPU, [_program("nvrtc 13.5.37"), _program("ptx as given")])
    assert actual["compiler"] == "nvrtc 13.5.37, ptx as given"


def test_cases_of_other_seeds_have_lines_of_their_own() -> None:
    first = fakes.case("double", name="fake/n=1")
    second = dataclasses.replace(first, name="fake/n=2", seed=7)
    actual = log_header.facts([first, second], CPU, [])
    assert (actual["seed of fake/n=1"], actual["seed of fake/n=2"]) == ("42", "7")
    assert {"seed of fake/n=1.x", "seed of fake/n=2.x"} <= actual.keys()
    assert "seed of fake" not in actual
