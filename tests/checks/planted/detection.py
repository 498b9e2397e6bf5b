"""Runs the kernels on the CPU device with its dynamic checks, and tells what they said of each pair."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpuregress.execution.device_registry import open_device
from gpuregress.foundation.errors import GpuregressError, KernelFault
from gpuregress.foundation.records import CHECKS, DEFAULT_HEAP, Instruments, LaunchShape
from gpuregress.gpu.base import Bytes, Device, DeviceModule, Memory
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.toolchain import programs
from tests.checks.planted import pairs
from tests.checks.planted.pairs import Pair, Parameter

ELEMENTS = 1024
"""Of every buffer."""

DTYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "float": np.float32,
    "double": np.float64,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "unsigned char": np.uint8,
}


@dataclass(frozen=True, slots=True)
class Said:
    """A finding, or a fault that ended the launch.

    Attributes:
        kind: of `records.FAULT_KINDS`.
        text: message and details, a line each.
    """

    kind: str
    text: str

    def names(self, line: int, program: str) -> bool:
        """Tell whether a source line is in it."""
        return bool(re.search(rf"\b{program}\.cu[:(]{line}\b", self.text))


def content(parameter: Parameter) -> Bytes:
    """What a buffer holds before the launch: 1 to 61 over and over in an input, zeros in others."""
    values = np.arange(ELEMENTS) % 61 + 1 if parameter.is_input else np.zeros(ELEMENTS)
    return np.ascontiguousarray(values.astype(DTYPES[parameter.type])).view(np.uint8)


def run(
    program: str, *, planted: bool, names: tuple[str, ...] = (), checks: tuple[str, ...] = tuple(CHECKS)
) -> Iterator[tuple[Pair, tuple[Said, ...]]]:
    """Run one twin of each pair of a program, or of those that are named; each with what was said of it."""
    chosen = [pair for pair in pairs.pairs(program) if not names or pair.name in names]
    built = programs.compile(pairs.source(program, planted=planted, kernels=tuple(pair.name for pair in chosen)))
    with open_device("cpu") as device:
        for pair in chosen:
            mangled = built.entries[pair.name].mangled
            device.instrument(Instruments(checks))
            device.limit_heap(DEFAULT_HEAP)
            try:
                module = device.load(built, 1, [mangled])
            except GpuregressError as error:
                yield pair, (Said("error", str(error)),)
            else:
                yield pair, launch(device, module, mangled, pair)
            device.free_all()


def launch(device: Device, module: DeviceModule, kernel: str, pair: Pair) -> tuple[Said, ...]:
    """Launch a kernel once on fresh buffers; return what was found, in the order of the reports."""
    arguments = _arguments(device, pair)
    try:
        report = device.launch(module, kernel, LaunchShape(pair.grid, pair.block, pair.shared), arguments)
    except KernelFault as fault:
        return (Said(fault.kind, "\n".join((str(fault), *map(str, fault.details)))),)
    except GpuregressError as error:
        return (Said("error", str(error)),)
    said = [Said(item.kind, "\n".join((item.message, item.location, *item.details))) for item in report.findings]
    if "the same value" in report.exchange:
        said.append(Said("race", report.exchange))
    return tuple(said)


def _arguments(device: Device, pair: Pair) -> tuple[bytes, ...]:
    """The bytes of each parameter, in order; the buffers are allocated."""
    buffers = {item.name: _buffer(device, item) for item in pair.parameters if item.is_buffer}
    types = {item.name: np.dtype(DTYPES[item.type]) for item in pair.parameters if item.is_buffer}

    def packed(item: Parameter) -> bytes:
        if item.is_buffer:
            return struct.pack("<Q", buffers[item.name].address)
        if item.image is None:
            return struct.pack("<i", item.value)
        image = item.image
        described = TextureDescription(types[image.memory].name, 1, image.extents, image.sampler)
        return struct.pack("<Q", device.texture(buffers[image.memory], described))

    return tuple(map(packed, pair.parameters))


def _buffer(device: Device, parameter: Parameter) -> Memory:
    data = content(parameter)
    memory = device.allocate(parameter.name, data.size, itemsize=np.dtype(DTYPES[parameter.type]).itemsize)
    if not parameter.is_unwritten:
        memory.write(data)
    return memory
