"""Launches that the interpreter finds in a text, for the tests of its parts."""

from __future__ import annotations

from pathlib import Path

from gpuregress.lab.host_programs import program, scalars
from gpuregress.lab.host_programs.interpreter import Interpreter
from gpuregress.lab.host_programs.objects import SeenLaunch
from gpuregress.lab.host_programs.scalars import HostScalar

KERNEL = "__global__ void k(float *y, const float *x, int n) {}\n"


def launches(folder: Path, text: str) -> list[SeenLaunch]:
    source = folder / "app.cu"
    source.write_text(text)
    run = Interpreter(program.read(source))
    run.run()
    return run.launches


def formula(value: object) -> str:
    assert isinstance(value, HostScalar)
    return scalars.text(value, lambda leaf: leaf.name)
