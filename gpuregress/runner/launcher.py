"""Launches of one case's kernels on a device.

Each launch is written to the log before it begins, so that the log names the one that never came back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, launch_log
from gpuregress.devices import textures
from gpuregress.devices.base import Device, DeviceModule, LaunchReport, Memory
from gpuregress.errors import DeviceError, GpuregressError
from gpuregress.launch_log import LaunchLog
from gpuregress.records import Buffer, Case, Launch, Program, Source, Task
from gpuregress.runner.arguments import pack
from gpuregress.runner.buffer_reader import BufferReader
from gpuregress.runner.poison import POISON

Array = npt.NDArray[np.generic]


def thread_count(launches: Sequence[Launch]) -> int:
    """Count the threads of all launches."""
    return sum(math.prod(launch.grid) * math.prod(launch.block) for launch in launches)


@dataclass(slots=True)
class Launcher:
    """A device that runs the launches of one case.

    Attributes:
        device: open, with nothing of an earlier case on it.
        task: the case, its program, and the number of its first launch.
        log: of the run.
        entering: is told the phase that begins.
        current: the log number of the last launch that began.
        position: its index among the launches of `run`.
        seed: of the run under way; None: the case's own.
        handles: address of a buffer → the texture or surface object that kernels are given in its place.
    """

    device: Device
    task: Task
    log: LaunchLog
    entering: Callable[[str], None]
    current: int | None = None
    position: int | None = None
    seed: int | None = None
    handles: dict[int, int] = field(default_factory=dict)

    @property
    def case(self) -> Case:
        """The case."""
        return self.task.case

    @property
    def device_label(self) -> str:
        """The device as people call it."""
        return self.task.device_label or self.device.info.name

    def prepare(
        self,
        module: DeviceModule,
        filled: Mapping[str, Array],
        program: Program,
        source: Source,
        poison: bytes = POISON,
    ) -> dict[str, Memory]:
        """Allocate every buffer and fill or poison it.

        Args:
            module: the loaded program, whose variables the symbols are.
            filled: buffer → its contents.
            program: names the variables.
            source: a symbol that it does not have is a plain buffer.
            poison: the two bytes of the pattern; none: outputs stay as they are.
        """
        memory = {}
        self.handles.clear()
        for name, buffer in self.case.buffers.items():
            is_symbol = source is self.case.source or buffer.symbol in source.symbols
            allocated = buffer if is_symbol else replace(buffer, symbol=None)
            memory[name] = self._allocate(module, allocated, program)
            BufferReader(memory[name], allocated).initialise(filled.get(name), poison)
            description = textures.describe(buffer)
            if description is not None:
                self.handles[memory[name].address] = self.device.texture(memory[name], description)
        return memory

    def _allocate(self, module: DeviceModule, buffer: Buffer, program: Program) -> Memory:
        if buffer.symbol is None:
            return self.device.allocate(buffer.name, buffer.size, itemsize=dtypes.parse(buffer.dtype).size)
        memory = module.symbol(program.symbols.get(buffer.symbol, buffer.symbol))
        if buffer.size > memory.size:
            raise DeviceError(
                f"buffer {buffer.name} has {buffer.size} bytes; its symbol {buffer.symbol} has {memory.size}"
            )
        return memory

    def run(
        self, launches: Sequence[Launch], program: Program, module: DeviceModule, memory: dict[str, Memory]
    ) -> Iterator[tuple[Launch, LaunchReport]]:
        """Run launches in order; a swap exchanges two entries of `memory`."""
        self.entering("launching")
        for position, launch in enumerate(launches):
            self.position = position
            yield launch, self._launch(launch, program, module, memory)
            for first, second in launch.swap:
                memory[first], memory[second] = memory[second], memory[first]

    def _launch(
        self, launch: Launch, program: Program, module: DeviceModule, memory: Mapping[str, Memory]
    ) -> LaunchReport:
        entry = program.entries[launch.kernel]
        arguments = tuple(pack(argument, memory, self.handles)[0] for argument in launch.args)
        call = launch_log.render(launch, self.case.buffers)
        self.current = self.task.first_launch if self.current is None else self.current + 1
        constant = module.kernel(entry.mangled).constant
        seed = self.case.seed if self.seed is None else self.seed
        self.log.begin(self.current, self.device_label, self.case.name, call, seed, constant)
        try:
            report = self.device.launch(module, entry.mangled, launch.shape, arguments)
        except GpuregressError as error:
            self.log.fault(self.current, str(error))
            raise
        self.log.end(self.current, report.elapsed_ms)
        return report
