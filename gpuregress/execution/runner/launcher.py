"""Launches of one case's kernels on a device.

Each launch is written to the log before it begins, so that the log names the one that never came back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.execution.runner.dumps import BufferReader
from gpuregress.execution.runner.poison import POISON
from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DeviceError, GpuregressError
from gpuregress.foundation.records import (
    TENSOR_MAP_ALIGNMENT,
    Argument,
    Buffer,
    Case,
    Launch,
    Program,
    Source,
    Task,
    TensorMap,
)
from gpuregress.gpu.base import Device, DeviceModule, LaunchReport, Memory
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchLog
from gpuregress.toolchain import compiler_messages


class EncodedMap(Record):
    """A tensor map as kernels are given it.

    Attributes:
        data: the 128 bytes.
        address: of a copy in global memory, 0 where no kernel takes one.
    """

    data: bytes
    address: int = 0


def pack(
    argument: Argument,
    memory: Mapping[str, Memory],
    handles: Mapping[int, int] | None = None,
    maps: Mapping[int, EncodedMap] | None = None,
) -> tuple[bytes, int]:
    """Encode an argument, and return its bytes and alignment.

    Args:
        argument: what the case passes.
        memory: buffer → where it is now.
        handles: address → the texture or surface object that kernels are given in its place.
        maps: address → the tensor map that kernels are given in its place.
    """
    if argument.kind == "buffer":
        address = memory[argument.buffer].address
        if argument.as_map:
            encoded = (maps or {})[address]
            if argument.in_memory:
                return encoded.address.to_bytes(8, "little"), 8
            return encoded.data, TENSOR_MAP_ALIGNMENT
        return ((handles or {}).get(address, address) + argument.offset).to_bytes(8, "little"), 8
    if argument.kind == "null":
        return bytes(8), 8
    if argument.kind == "scalar":
        return bytes.fromhex(argument.data), dtypes.parse(argument.dtype).alignment
    assert not argument.names, "members by name are placed before a launch"
    packed, largest = bytearray(), 1
    for member in argument.fields:
        data, alignment = pack(member, memory, handles, maps)
        packed += bytes(-len(packed) % alignment) + data
        largest = max(largest, alignment)
    return bytes(packed) + bytes(-len(packed) % largest), largest


WATCHING = "watching"
"""Phase of launches whose accesses are all watched, which take long."""

Array = npt.NDArray[np.generic]


def thread_count(launches: Sequence[Launch]) -> int:
    """Count the threads of all launches."""
    return sum(math.prod(launch.grid) * math.prod(launch.block) for launch in launches)


class LoadedSource(Record):
    """A source whose program is on the device.

    Attributes:
        source: what was compiled.
        program: names its kernels and variables.
        module: the loaded program.
    """

    source: Source
    program: Program
    module: DeviceModule

    def symbol(self, buffer: Buffer) -> Memory:
        """Return the variable that a buffer is."""
        assert buffer.symbol is not None
        return self.module.symbol(self.program.symbols.get(buffer.symbol, buffer.symbol))


class RunLabel(Record):
    """Label of a run in the launch log, and its phase for the watchdog.

    Attributes:
        seed: None: the case's own.
        variant: empty: the case's own build.
        schedule: empty: the usual one.
        phase: of launches whose code is optimised; that of a trusted kernel is another one.
    """

    seed: int | None = None
    variant: str = ""
    schedule: str = ""
    phase: str = "launching"


class Launcher(MutableRecord):
    """A device that runs the launches of one case.

    Attributes:
        device: open, with nothing of an earlier case on it.
        task: the case, its program, and the number of its first launch.
        entering: receives the phase that begins.
        current: the log number of the last launch that began.
        position: its index among the launches of `run`.
        label: of the run under way.
        handles: address of a buffer → the texture or surface object that kernels are given in its place.
        maps: address of a buffer → the tensor map that kernels are given in its place.
    """

    device: Device
    task: Task
    log: LaunchLog
    entering: Callable[[str], None]
    current: int | None = None
    position: int | None = None
    label: RunLabel = field(default_factory=RunLabel)
    handles: dict[int, int] = field(default_factory=dict)
    maps: dict[int, EncodedMap] = field(default_factory=dict)

    @property
    def case(self) -> Case:
        """The case."""
        return self.task.case

    @property
    def device_label(self) -> str:
        """The device as people call it."""
        return self.task.device_label or self.device.info.name

    def load(self, threads: int | None) -> list[LoadedSource]:
        """Load the case's own sources.

        Args:
            threads: of all launches, where few are worth no optimisation; see `gpu.base.Device.load`.
        """
        return self.load_programs(zip(self.case.sources, self.task.programs, strict=True), threads)

    def load_programs(self, programs: Iterable[tuple[Source, Program]], threads: int | None) -> list[LoadedSource]:
        """Load compiled sources: only the kernels that the job names need be compiled."""
        loaded = []
        for source, program in programs:
            kernels = tuple(program.entries[name].mangled for name in source.kernels) or None
            with compiler_messages.naming_ptx_file(Path(source.path)):
                loaded.append(LoadedSource(source, program, self.device.load(program, threads, kernels)))
        return loaded

    def prepare(
        self, loaded: Sequence[LoadedSource], filled: Mapping[str, Array], poison: bytes = POISON
    ) -> dict[str, Memory]:
        """Allocate every buffer and fill or poison it.

        Args:
            loaded: the case's own sources, or that of a reference: a symbol that it does not have is a plain buffer.
            filled: buffer → its contents.
            poison: the two bytes of the pattern; none: outputs stay as they are.
        """
        memory = {}
        self.handles.clear()
        self.maps.clear()
        for name, buffer in self.case.buffers.items():
            holder = self._holder(buffer, loaded)
            allocated = buffer if holder is not None else replace(buffer, symbol=None)
            memory[name] = self._allocate(holder, allocated)
            BufferReader(memory[name], allocated).initialise(filled.get(name), poison)
            if name not in filled and allocated.symbol is None:
                self.device.leave_unwritten(memory[name])
            description = buffer.texture_description
            if description is not None:
                self.handles[memory[name].address] = self.device.texture(memory[name], description)
            if buffer.tensor_map is not None:
                self.maps[memory[name].address] = self._encode(name, memory[name], buffer.tensor_map)
        return memory

    def _encode(self, name: str, memory: Memory, given: TensorMap) -> EncodedMap:
        """Encode a tensor map, and copy it to global memory where a launch takes it there."""
        data = self.device.tensor_map(memory, given)
        arguments = (argument for launch in self.case.launches for argument in launch.args)
        if not any(name in argument.maps_in_memory for argument in arguments):
            return EncodedMap(data)
        copy = self.device.allocate(f"tensor map of {name}", len(data), itemsize=len(data))
        copy.write(np.frombuffer(data, np.uint8))
        return EncodedMap(data, copy.address)

    def _holder(self, buffer: Buffer, loaded: Sequence[LoadedSource]) -> LoadedSource | None:
        """Find the source whose variable a buffer is; None if it is a plain buffer."""
        if buffer.symbol is None:
            return None
        own = loaded[buffer.symbol_source] if buffer.symbol_source < len(loaded) else loaded[0]
        if loaded[0].source is self.case.source or buffer.symbol in own.source.symbols:
            return own
        for candidate in loaded:
            if buffer.symbol in candidate.source.symbols:
                return candidate
        return None

    def _allocate(self, holder: LoadedSource | None, buffer: Buffer) -> Memory:
        if holder is None:
            return self.device.allocate(buffer.name, buffer.size, itemsize=dtypes.parse(buffer.dtype).size)
        memory = holder.symbol(buffer)
        if buffer.size > memory.size:
            raise DeviceError(
                f"buffer {buffer.name} has {buffer.size} bytes; its symbol {buffer.symbol} has {memory.size}"
            )
        return memory

    def run(
        self, launches: Sequence[Launch], loaded: Sequence[LoadedSource], memory: dict[str, Memory]
    ) -> Iterator[tuple[Launch, LaunchReport]]:
        """Run launches in order; a swap exchanges two entries of `memory` after the launch was yielded."""
        is_optimised = all(source.module.is_optimised for source in loaded)
        self.entering(self.label.phase if is_optimised or self.label.phase == WATCHING else "trying")
        for position, launch in enumerate(launches):
            self.position = position
            yield launch, self._launch(launch, loaded[launch.source], memory)
            for first, second in launch.swap:
                memory[first], memory[second] = memory[second], memory[first]

    def _launch(self, launch: Launch, loaded: LoadedSource, memory: Mapping[str, Memory]) -> LaunchReport:
        entry = loaded.program.entries[launch.kernel]
        arguments = tuple(pack(argument, memory, self.handles, self.maps)[0] for argument in launch.args)
        # The log names the source only where a case has several.
        of = self.case.source_names[launch.source] if self.case.other_sources else ""
        call = launch_log.render(launch, self.case.buffers, of)
        self.current = self.task.first_launch if self.current is None else self.current + 1
        constant = loaded.module.kernel(entry.mangled).constant
        seed = self.case.seed if self.label.seed is None else self.label.seed
        self.log.begin(
            number=self.current,
            device=self.device_label,
            case=self.case.name,
            call=call,
            seed=seed,
            constant=constant,
            variant=self.label.variant,
            schedule=self.label.schedule,
        )
        try:
            report = self.device.launch(loaded.module, entry.mangled, launch.shape, arguments)
        except GpuregressError as error:
            self.log.fault(self.current, str(error))
            raise
        self.log.end(self.current, report.elapsed_ms)
        return report
