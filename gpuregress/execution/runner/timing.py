"""Timing loop: the launches of a case over and over, each time on freshly filled buffers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.launcher import Launcher, LoadedSource
from gpuregress.foundation.records import Timing
from gpuregress.gpu.base import Memory

Array = npt.NDArray[np.generic]


def sample(
    launcher: Launcher,
    loaded: Sequence[LoadedSource],
    prepared: Mapping[str, Memory],
    contents: Mapping[str, Array],
    run: int,
) -> tuple[Timing, dict[str, Memory]]:
    """Time the launches of a case.

    Args:
        launcher: of the case.
        loaded: its sources.
        prepared: buffer → its memory before the first launch.
        contents: buffer → what it holds then.
        run: the number of the loop's last run among the case's runs, counted from 1.

    Returns:
        The samples, and the memory of each buffer after the last run: launches may exchange them.
    """
    case, loop, samples, kernels = launcher.case, launcher.case.settings.timing, list[float](), dict[str, list[float]]()
    assert loop is not None
    memory, labels = dict(prepared), case.kernel_labels
    for number in range(loop.warmup + loop.samples):
        for name, buffer in case.buffers.items():
            BufferReader(prepared[name], buffer).initialise(contents.get(name))
        memory = dict(prepared)
        taken = [
            (labels[launch.source, launch.kernel], report.elapsed_ms)
            for launch, report in launcher.run(case.launches, loaded, memory)
        ]
        if number >= loop.warmup:
            samples.append(sum(elapsed for _, elapsed in taken))
            for kernel in dict.fromkeys(name for name, _ in taken):
                kernels.setdefault(kernel, []).append(sum(elapsed for name, elapsed in taken if name == kernel))
    is_gpu = launcher.device.info.name.startswith("cuda")
    timing = Timing(
        clock="events on the GPU" if is_gpu else "wall time of the launches",
        warmup=loop.warmup,
        samples_ms=tuple(samples),
        median_ms=statistics.median(samples),
        kernels_ms={kernel: tuple(times) for kernel, times in kernels.items()},
        run=run,
        **launcher.device.clocks(),
    )
    return timing, memory
