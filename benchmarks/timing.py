"""False alarms of the comparison of times: loops of one launch against the next loop of the same launch (A/A).

The times are those of the first GPU, or where there is none the wall times of the CPU device on this host.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.rows import Row
from gpuregress.execution import device_registry as registry
from gpuregress.foundation.records import AcceptedTiming, LaunchShape, MadeOf, Source, Timing
from gpuregress.judge import timing_comparison
from gpuregress.toolchain import programs

N = 1 << 18
_LOOPS = 121
_SAMPLES = 30
_SLOWER = 1.1
"""A planted slow-down: how much more work the same kernel is given."""


def measure() -> list[Row]:
    """The rate of false alarms, and the share of planted slow-downs that are found."""
    device = next((name for name in registry.available() if name.startswith("cuda")), "cpu")
    loops = list(_loops(device, N, _LOOPS))
    statuses = [_status(before, after) for before, after in itertools.pairwise(loops)]
    alarms = sum(status in ("faster", "slower") for status in statuses) / len(statuses)
    slower = list(_loops(device, int(N * _SLOWER), _LOOPS // 4))
    found = sum(_status(before, after) == "slower" for before, after in zip(loops, slower, strict=False)) / len(slower)
    unclear = statuses.count("unclear")
    where = f"{device}, {_SAMPLES} samples each"
    return [
        Row(
            f"A/A of {len(statuses)} pairs of loops",
            f"{alarms:.1%} false alarms",
            f"level {timing_comparison.LEVEL:.0%}",
            note=f"{where}; {unclear} unclear",
        ),
        Row(f"{_SLOWER:g} times the work, {len(slower)} pairs", f"{found:.0%} called slower", "", note=where),
    ]


def _status(before: tuple[float, ...], after: tuple[float, ...]) -> str:
    timing = Timing("", 0, after, float(np.median(after)), {}, 1)
    return timing_comparison.of_samples(AcceptedTiming("", before), timing, MadeOf(""), None).status


def _loops(name: str, count: int, loops: int) -> Iterator[tuple[float, ...]]:
    """Samples in ms of loops over one launch of saxpy, one loop behind the other."""
    built = programs.compile(Source(str(Path(__file__).with_name("saxpy.cu")), kernels=("saxpy",)))
    with registry.open_device(name) as device:
        module = device.load(built)
        memories = [device.allocate(buffer, 4 * count, itemsize=4) for buffer in "xy"]
        for memory in memories:
            memory.write(np.ones(count, np.float32).view(np.uint8))
        pointers = [struct.pack("<Q", memory.address) for memory in memories]
        args = (struct.pack("<i", count), struct.pack("<f", 0.5), *pointers)
        shape = LaunchShape((-(-count // 256), 1, 1), (256, 1, 1), 0)
        mangled = built.entries["saxpy"].mangled
        with device.timed_exactly():
            for _ in range(loops):
                times = [device.launch(module, mangled, shape, args).elapsed_ms for _ in range(_SAMPLES + 3)]
                yield tuple(times[3:])
