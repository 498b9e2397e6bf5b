"""Runs the suite on a device: digests of all that the kernels wrote and printed."""

from __future__ import annotations

import hashlib
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.errors import INFEASIBLE, GpuregressError, HarnessError
from gpuregress.foundation.records import Case, LaunchShape, Program, Source, Task
from gpuregress.gpu.architectures import named
from gpuregress.gpu.base import Device, DeviceModule, Memory
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.store import project
from gpuregress.toolchain import cubin_linker
from gpuregress.toolchain import programs as toolchain
from gpuregress.toolchain.python_kernels import compiler as python_compiler
from tests.conformance.kernels import images, programs
from tests.conformance.kernels.programs import Variant

ROOT = Path(__file__).parents[3]
DIGESTS = Path(__file__).with_name("digests.json")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a kernel, or a job's case, gave.

    Attributes:
        name: `warps/shuffles/sm_90/fast`, or `jobs/CASE/BUFFER/sm_90/fast`.
        digest: the first 16 hex digits of a sha256; "" where there is none.
        problem: why there is none: the error's text.
        is_infeasible: whether the job itself excludes this, in this variant or at all.
    """

    name: str
    digest: str = ""
    problem: str = ""
    is_infeasible: bool = False


def compiled(source: Source, device: str) -> Program:
    """A source as a device wants it: for a GPU what `build` made, whatever compilers the GPU's host has of its own.

    Raises:
        HarnessError: `build` has not made it.
    """
    if device == "cpu":
        return toolchain.compile(source)
    with mock.patch.object(python_compiler, "version", return_value=""):
        program = toolchain.find(source)
    if program is None:
        raise HarnessError("it is not in the cache: run `build` where the compiler is, and name its GPUREGRESS_CACHE")
    return assembled(program)


def assembled(program: Program) -> Program:
    """A program with a cubin for an H200, whatever its PTX is for; PTX for sm_90a alone, Triton's too, stays that."""
    return cubin_linker.build_cubin(replace(program, arch=named(program.arch, "sm_90"), cubin=""))


def sources() -> Iterator[tuple[Source, str]]:
    """Every source in every variant, and its name."""
    for variant in programs.VARIANTS:
        for name in programs.names():
            if variant in programs.variants(name):
                yield programs.source(name, variant), f"{name}/{variant.name}"
        for case in cases():
            if variant in variants_of(case):
                yield varied(case.source, variant), f"jobs/{case.name}/{variant.name}"


def cases() -> tuple[Case, ...]:
    """The cases of configs/ that are meant to succeed."""
    return tuple(case for case in plan.make(project.find(ROOT), []).cases if case.expect_fault is None)


def variants_of(case: Case) -> tuple[Variant, ...]:
    """The variants of a job's case; NVRTC's flags say nothing to the compilers of kernels in Python."""
    found = programs.variants(f"jobs/{case.name}")
    return found if case.source.python is None else tuple(item for item in found if item.flags == "default")


def varied(source: Source, variant: Variant) -> Source:
    """A job's source under other flags and for another architecture."""
    return replace(source, arch=variant.arch, options=(*source.options, *programs.FLAGS[variant.flags]))


def run_program(device: Device, name: str, variant: Variant, kind: str) -> Iterator[Finding]:
    """All kernels of a program; one that fails does not hold back the others."""
    try:
        program = compiled(programs.source(name, variant), kind)
        module = device.load(program)
    except GpuregressError as error:
        yield _failed(f"{name}/{variant.name}", error)
        return
    for kernel, shape in programs.kernels(name).items():
        full = f"{name}/{kernel}/{variant.name}"
        try:
            value = digest(full, *launch(device, module, program.entries[kernel].mangled, shape))
        except GpuregressError as error:
            yield _failed(full, error)
        else:
            yield Finding(full, value)
    device.free_all()


def launch(device: Device, module: DeviceModule, kernel: str, shape: programs.Shape) -> tuple[bytes, str]:
    """Runs one kernel; gives the bytes it wrote, to surfaces too, and the text it printed."""
    given = device.allocate("x", 4 * programs.READ_WORDS, itemsize=4)
    given.write(programs.words().view(np.uint8))
    written = device.allocate("y", 4 * programs.WRITTEN_WORDS, itemsize=4)
    written.write(np.zeros(4 * programs.WRITTEN_WORDS, np.uint8))
    arguments = tuple(struct.pack("<Q", memory.address) for memory in (given, written))
    buffers = [_image(device, description, number) for number, description in enumerate(shape.images)]
    if buffers:
        handles = (device.texture(memory, item) for memory, item in zip(buffers, shape.images, strict=True))
        arguments += (b"".join(struct.pack("<Q", handle) for handle in handles),)
    report = device.launch(module, kernel, LaunchShape(shape.grid, shape.block, shape.shared), arguments)
    results = [written, *(memory for memory, item in zip(buffers, shape.images, strict=True) if item.sampler.surface)]
    return b"".join(_whole_words(memory.read().tobytes()) for memory in results), report.output


def _whole_words(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _image(device: Device, description: TextureDescription, number: int) -> Memory:
    content = images.content(description, number)
    memory = device.allocate(f"image {number}", content.nbytes, itemsize=description.element_size)
    memory.write(content.reshape(-1).view(np.uint8))
    return memory


def run_case_as(device: Device, case: Case, variant: Variant, kind: str) -> Iterator[Finding]:
    """A job's case with its source compiled otherwise: one finding a dumped buffer."""
    plain = replace(case, source=varied(case.source, variant), reference={}, reference_kernels={}, repeat=1)
    name = f"jobs/{case.name}"
    try:
        program = compiled(plain.source, kind)
    except GpuregressError as error:
        yield _failed(f"{name}/{variant.name}", error)
        return
    with tempfile.TemporaryDirectory() as folder:
        complete = plan.completed(plain, (program,))
        outcome = run_case(device, Task(complete, program, f"{folder}/launch.log", 1, folder))
    device.free_all()
    if outcome.state != "done":
        problem, kind = outcome.message or str(outcome.fault), outcome.observations.error
        yield Finding(f"{name}/{variant.name}", problem=problem, is_infeasible=kind in INFEASIBLE)
        return
    for dump in outcome.dumps:
        yield Finding(f"{name}/{dump.buffer}/{variant.name}", dump.digest[:16])


def everything(
    device: Device, kind: str, wanted: Callable[[str], bool] = lambda _name: True, variants: tuple[Variant, ...] = ()
) -> Iterator[Finding]:
    """Every program and every case that `wanted` takes by its name (`warps`, `jobs/reduce/n=…`)."""
    for variant in variants or programs.VARIANTS:
        for name in programs.names():
            if wanted(name) and variant in programs.variants(name):
                yield from run_program(device, name, variant, kind)
        for case in cases():
            if wanted(f"jobs/{case.name}") and variant in variants_of(case):
                yield from run_case_as(device, case, variant, kind)


def digest(name: str, written: bytes, printed: str) -> str:
    """The first 16 hex digits of the sha256 of what a kernel wrote and printed."""
    if programs.any_nan(name):
        values = np.frombuffer(written, np.float64)
        written = np.where(np.isnan(values), np.nan, values).tobytes()
    return hashlib.sha256(written + printed.encode()).hexdigest()[:16]


def _failed(name: str, error: GpuregressError) -> Finding:
    kind = type(error).__name__
    return Finding(name, problem=f"{kind}: {error}", is_infeasible=kind in INFEASIBLE)
