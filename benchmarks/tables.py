"""Loading of the special-function tables in a fresh process: the first on a machine, and a later one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.rows import Row
from gpuregress.virtual_gpu.runtime.special_function_tables import DIGESTS

_LOAD = """
import sys, time
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.runtime.special_function_tables import table
start, cpu = time.perf_counter(), time.process_time()
table(sys.argv[1], cache)
print(1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu))
"""
_TRIES = 5


def measure() -> list[Row]:
    """The slowest table counts, by the best of its tries: the disk's other users are not ours."""
    first, later = {}, {}
    for name in DIGESTS:
        with tempfile.TemporaryDirectory() as empty:
            later[name] = min([_load(name, empty) for _ in range(_TRIES + 1)][1:])
        first[name] = min(_first(name) for _ in range(_TRIES))
        times = "first {:.1f} ms ({:.1f} ms CPU), later {:.1f} ms ({:.1f} ms CPU)".format(*first[name], *later[name])
        print(f"table {name}: {times}", file=sys.stderr)
    return [_row("first", first), _row("later", later)]


def _row(which: str, taken: dict[str, tuple[float, float]]) -> Row:
    name = max(taken, key=lambda key: taken[key])
    wall_ms, cpu_ms = taken[name]
    what = f"special-function table, {which} load on a machine"
    return Row(what, f"{wall_ms:.1f} ms", "limit 50 ms", 50 / wall_ms, 1, f"the slowest, {name}; {cpu_ms:.1f} ms CPU")


def _first(name: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as empty:
        return _load(name, empty)


def _load(name: str, cache: str) -> tuple[float, float]:
    environment = {**os.environ, "GPUREGRESS_CACHE": cache}
    command = [sys.executable, "-c", _LOAD, name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    wall_ms, cpu_ms = done.stdout.split()
    return float(wall_ms), float(cpu_ms)
