"""Compilation of PTX to machine code for a kernel of some 500 instructions, and loading it from the cache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rows import Row
from benchmarks.virtual_gpu import KERNELS
from gpuregress.foundation.records import Source
from gpuregress.toolchain import programs

PROGRAMS = {"mixed": Path(__file__).with_name("compiling.cu"), "nearest_neighbour": KERNELS / "nearest.cu"}
_INSTRUCTION = re.compile(r"^\s+(?:@!?%\w+\s+)?[a-z][\w.:]*[^;:]*;", re.MULTILINE)
_COMPILE = """
import sys, time
from pathlib import Path
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.compilation import object_cache, translate
text = Path(sys.argv[1]).read_text()
translate.compile_module(Path(sys.argv[2]).read_text(), ())
start, cpu = time.perf_counter(), time.process_time()
object_cache.compiled(text, (), cache=cache)
print(1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu))
"""
_SMALL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
"""
COMPILED_MS = 500
"""Processor time, three quarters of it LLVM's. `mixed` took 443 ms; a fifth of that builds its rows once more, without
checks. Large launches gain that back: `docs/contributing/cpu-device-internals.md`, "What these two gain"."""
LOADED_MS = 30
_TRIES = 5
"""The machine's other users are not ours: the best of them counts."""


def measure() -> list[Row]:
    """Each in a fresh process in which LLVM has started; the best of the tries."""
    rows = []
    for kernel, path in PROGRAMS.items():
        ptx = Path(programs.compile(Source(str(path), kernels=(kernel,))).ptx)
        count = len(_INSTRUCTION.findall(ptx.read_text()))
        first, later = [], []
        for _ in range(_TRIES):
            with tempfile.TemporaryDirectory() as cache:
                first.append(_compile(ptx, cache))
                later.append(_compile(ptx, cache))
        rows.append(_row(f"{kernel}, {count} instructions: translated and compiled", first, COMPILED_MS))
        rows.append(_row(f"{kernel}: loaded from the cache", later, LOADED_MS))
    return rows


def _row(what: str, tries: list[tuple[float, float]], limit_ms: float) -> Row:
    wall_ms, cpu_ms = (min(times) for times in zip(*tries, strict=True))
    return Row(what, f"{cpu_ms:.1f} ms CPU", f"limit {limit_ms:g} ms", limit_ms / cpu_ms, 1, f"{wall_ms:.1f} ms")


def _compile(ptx: Path, cache: str) -> tuple[float, float]:
    small = Path(cache) / "small.ptx"
    small.write_text(_SMALL)
    environment = {**os.environ, "GPUREGRESS_CACHE": cache}
    command = [sys.executable, "-c", _COMPILE, str(ptx), str(small)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    wall_ms, cpu_ms = done.stdout.split()
    return float(wall_ms), float(cpu_ms)
