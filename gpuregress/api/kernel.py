"""Kernel as a Python callable: compiled once, launched with arrays on the virtual or a real GPU.

A launch runs in a process of its own, as the cases of a job do: a kernel that hangs, crashes or loses the GPU ends that
process, and the caller gets an exception.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpuregress.api import arrays, kernel_source, signature
from gpuregress.api.arrays import ArrayBytes
from gpuregress.api.signature import KernelParameter, Signature
from gpuregress.execution.workers import direct_messages
from gpuregress.execution.workers.direct_messages import Contents, LaunchCall, LaunchResult
from gpuregress.execution.workers.direct_process import LaunchProcess
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import DEFAULT_HEAP, SM_90, Argument, Dim3, LaunchShape, Program, Source
from gpuregress.gpu import architectures
from gpuregress.gpu.records import replace
from gpuregress.session import device_slots
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.toolchain import compiler_messages, ptx_declarations

Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True)
class _Entry:
    """An array, and whether the kernel may write it."""

    name: str
    array: ArrayBytes
    is_output: bool
    symbol: str = ""


@dataclass(slots=True)
class CallContents:
    """The arrays of one launch.

    Attributes:
        kernel: for direct_messages.
    """

    kernel: str
    _entries: list[_Entry] = field(default_factory=list)

    def add(self, name: str, array: ArrayBytes, *, is_output: bool, symbol: str = "") -> str:
        """Add an array, and return the name of its buffer; the same memory is one buffer.

        Args:
            name: of the parameter.
            array: what is passed.
            is_output: whether the kernel may write it.
            symbol: the variable that it is, "" for a buffer.

        Raises:
            ValueError: it overlaps another array of the launch.
        """
        for entry in self._entries if not symbol else ():
            if entry.symbol or not entry.array.overlaps(array):
                continue
            if (entry.array.address, entry.array.size) == (array.address, array.size):
                entry.is_output |= is_output
                return entry.name
            raise ValueError(f"{self.kernel}: {entry.name} and {name} overlap in memory; pass one array, or copies")
        self._entries.append(_Entry(name, array, is_output, symbol))
        return name

    def laid_out(self) -> tuple[tuple[Contents, ...], int]:
        """Return the contents of the shared memory, and its bytes."""
        offsets, size = direct_messages.laid_out([entry.array.size for entry in self._entries])
        contents = []
        for entry, offset in zip(self._entries, offsets, strict=True):
            contents.append(
                Contents(
                    name=entry.name,
                    offset=offset,
                    size=entry.array.size,
                    itemsize=max(1, entry.array.itemsize),
                    is_output=entry.is_output,
                    symbol=entry.symbol,
                )
            )
        return tuple(contents), size

    def fill(self, memory: Bytes) -> None:
        """Write the arrays into the shared memory."""
        for entry, one in zip(self._entries, self.laid_out()[0], strict=True):
            memory[one.offset : one.offset + one.size] = entry.array.read()

    def take(self, memory: Bytes) -> None:
        """Write the outputs back into the arrays.

        Raises:
            ValueError: the kernel wrote an array that is read-only.
        """
        for entry, one in zip(self._entries, self.laid_out()[0], strict=True):
            if not one.is_output:
                continue
            after = memory[one.offset : one.offset + one.size]
            if not entry.array.is_read_only:
                entry.array.write(after)
            elif not np.array_equal(after, entry.array.read()):
                raise ValueError(f"{self.kernel} wrote {entry.name}, which is read-only")


_LOCK = threading.Lock()
_PROCESSES: dict[str, LaunchProcess] = {}


def open_device(name: str) -> DeviceSelection:
    """Select the device with a name.

    Args:
        name: `cpu`, `cuda`, `cuda:N` or `auto`.

    Raises:
        UsageError: there is no such name.
        DeviceError: there is no such device.
    """
    return device_slots.select(name, 1)


def process_of(selected: DeviceSelection) -> LaunchProcess:
    """Return the process of a device; nothing is started before its first launch."""
    slot = selected.slots[0]
    with _LOCK:
        if not _PROCESSES:
            atexit.register(close)
        return _PROCESSES.setdefault(slot.label, LaunchProcess(slot))


def close() -> None:
    """End all processes; the next launch starts another one."""
    with _LOCK:
        for process in _PROCESSES.values():
            process.close()


Extents = int | Sequence[int]
TIMEOUT_S = 30.0


class Kernel:
    """A kernel that can be called with arrays.

        axpy = gpuregress.Kernel("axpy.cu", "axpy")
        axpy(4, 256, y, x, 2.0, len(y))

    Args:
        source: the path of a `.cu`, `.ptx` or `.cubin`, or the text of CUDA C++ or PTX.
        name: the kernel's C++ name, with its template arguments: `axpy<float>`.
        device: `cpu`, the virtual GPU; `cuda` or `cuda:N`, a real one; `auto`, a real one if there is one.
        options: of NVRTC, as `("--use_fast_math",)`.
        include: folders of headers.
        defines: macro → its value.
        contract: `pinned` forbids the assembler to fuse multiplications and additions, as jobs do; or `native`.
        arch: the architecture, as `sm_90`; the GPU's own where none is given.
        timeout: seconds that a launch may take.

    Raises:
        CompileError: the source does not compile, or has no such kernel.
        UsageError: an argument means nothing.
        TypeError: an argument is of another type.
        ValueError: a text is empty, or the time limit is not above 0.
        DeviceError: there is no such device.
    """

    @float_environment.default()
    def __init__(
        self,
        source: str | os.PathLike[str],
        name: str,
        device: str = "cpu",
        *,
        options: str | Sequence[str] = (),
        include: str | Sequence[str | os.PathLike[str]] = (),
        defines: Mapping[str, object] | None = None,
        contract: Literal["pinned", "native"] = "pinned",
        arch: str = "",
        timeout: float = TIMEOUT_S,
    ) -> None:
        if contract not in ("pinned", "native"):
            raise UsageError(f"contract is {contract!r}: say pinned or native")
        if arch and (problem := architectures.problem(signature.text("arch", arch))):
            raise UsageError(problem)
        self.name, self.timeout = signature.text("name", name), signature.seconds("timeout", timeout)
        self._device = open_device(signature.text("device", device))
        path = kernel_source.path_of(source)
        folders = signature.items("include", include, (str, os.PathLike))
        self._source = Source(
            path=str(path),
            options=signature.items("options", options, str),
            include=tuple(str(Path(folder).absolute()) for folder in folders),
            defines=kernel_source.macros(signature.mapping("defines", defines)),
            contract=contract,
            arch=arch or self._device.arch or SM_90.name,
            kernels=(name,),
        )
        self._programs: dict[tuple[tuple[str, ...], Dim3 | None], Program] = {}
        entry = self._program((), None).entries[name]
        self._text = kernel_source.text_of(path)
        self.signature: Signature = signature.of(entry, name, self._text, self._source.defines)

    @property
    def device(self) -> str:
        """The device that it runs on, as `--device` names it."""
        return self._device.slots[0].label

    def __repr__(self) -> str:
        """`<gpuregress.Kernel axpy(float* y, …) on cpu>`."""
        return f"<gpuregress.Kernel {self.signature} on {self.device}>"

    @float_environment.default()
    def __call__(
        self,
        grid: Extents,
        block: Extents,
        /,
        *arguments: Any,
        shared: int = 0,
        cluster: Extents | None = None,
        constants: Mapping[str, Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        heap: int = DEFAULT_HEAP,
        timeout: float | None = None,
    ) -> LaunchResult:
        """Launch the kernel, and wait for its end.

        Arrays behind pointers that are not to const are updated in place. Each launch begins with a freshly loaded
        program: its variables have their initial values.

        Args:
            grid: blocks along x, y, z: a number, or up to three.
            block: threads of a block, likewise.
            arguments: in the kernel's order: arrays for pointers, numbers, numpy structures or bytes for structs.
            shared: dynamic shared memory, bytes.
            cluster: blocks of a cluster along x, y, z, for a kernel without `__cluster_dims__`.
            constants: `__constant__` or `__device__` variable → the array that it holds.
            variables: `__device__` variable → the array that it holds before and after.
            heap: bytes that the kernel may allocate itself.
            timeout: seconds, in place of the kernel's own limit.

        Returns:
            its time, what it printed, and the number of executed instructions.

        Raises:
            TypeError: an argument is not what the kernel takes.
            ValueError: an array has gaps, overlaps another one, or is read-only and was written; or a number is too
                small for its keyword.
            OverflowError: a number is too large for its parameter.
            KernelFault: the kernel failed; it has `buffer`, `index`, `thread`, `block` and `line`.
            KernelTimeout: it did not end in time.
            DeviceError: the launch is over the device's limits.
            UnsupportedError: the virtual GPU does not have one of its instructions.
        """
        self.signature.check_count(arguments)
        contents = CallContents(self.name)
        pairs = zip(self.signature.parameters, arguments, strict=True)
        encoded = tuple(self._argument(parameter, value, contents) for parameter, value in pairs)
        symbols = self._variables(constants, variables, contents)
        shape = LaunchShape(
            signature.extents("grid", grid), signature.extents("block", block), signature.whole("shared", shared, 0)
        )
        clusters = None if cluster is None else signature.extents("cluster", cluster)
        bytes_of_heap = signature.whole("heap", heap, 0)
        limit = self.timeout if timeout is None else signature.seconds("timeout", timeout)
        laid_out, size = contents.laid_out()
        program = self._program(symbols, clusters)
        call = LaunchCall(
            program=program,
            kernel=self.name,
            shape=shape,
            arguments=encoded,
            contents=laid_out,
            memory=size,
            heap=bytes_of_heap,
            cluster=clusters,
        )
        with compiler_messages.naming_ptx_file(Path(self._source.path)):
            return process_of(self._device).call(call, contents.fill, contents.take, limit)

    def _variables(self, constants: object, variables: object, contents: CallContents) -> tuple[str, ...]:
        """Add the contents of the program's variables, and return their names."""
        given = signature.mapping("constants", constants)
        updated = signature.mapping("variables", variables)
        if both := [symbol for symbol in updated if symbol in given]:
            raise ValueError(f"{self.name}: {both[0]} is in constants and in variables: pass it in one of them")
        for symbol, value in {**given, **updated}.items():
            array = self._view(symbol, value if arrays.is_array(value) else _typed(symbol, value))
            signature.check_variable(symbol, array, self.name, self._text, self._source.defines)
            contents.add(f"::{symbol}", array, is_output=symbol in updated, symbol=symbol)
        return (*given, *updated)

    def _argument(self, parameter: KernelParameter, value: Any, contents: CallContents) -> Argument:
        if signature.is_array(value) and parameter.compiled.kind != "struct":
            array = self._view(parameter.name, value)
            signature.check_array(parameter, array, self.name)
            buffer = contents.add(parameter.name, array, is_output=not parameter.is_input)
            return Argument("buffer", buffer=buffer)
        if isinstance(value, tuple):
            members = [self._member(f"{parameter.name}.{at}", item, contents) for at, item in enumerate(value)]
            return Argument("struct", fields=tuple(members))
        return signature.scalar(parameter, value, self.name)

    def _member(self, name: str, value: Any, contents: CallContents) -> Argument:
        """A member of a struct: an array whose address it is, or a number of a known type."""
        if signature.is_array(value):
            return Argument("buffer", buffer=contents.add(name, self._view(name, value), is_output=True))
        if isinstance(value, np.generic) and value.itemsize in (1, 2, 4, 8):
            return signature.encoded(value.tobytes(), str(value))
        raise TypeError(f"{self.name}: {name} is a member of a struct: pass an array, or a number as numpy.float32(…)")

    def _view(self, name: str, value: Any) -> arrays.ArrayBytes:
        try:
            return arrays.view(value)
        except ValueError as error:
            raise ValueError(f"{self.name}: {name}: {error}") from None

    def _program(self, symbols: tuple[str, ...], cluster: Dim3 | None) -> Program:
        key = symbols, cluster
        if key not in self._programs:
            has_cubin = self._device.kind == "cuda"
            source = replace(self._source, symbols=symbols)
            program = kernel_source.compiled(source, has_cubin=has_cubin and cluster is None)
            if cluster is not None:
                program = self._with_cluster(program, cluster, has_cubin=has_cubin)
            self._programs[key] = program
        return self._programs[key]

    def _with_cluster(self, program: Program, cluster: Dim3, *, has_cubin: bool) -> Program:
        """The program with a cluster written into the PTX of the kernel."""
        if not program.ptx:
            raise UsageError(f"{self._source.path} has no PTX, so cluster= cannot be set")
        ptx, mangled = Path(program.ptx).read_text(encoding="utf-8"), program.entries[self.name].mangled
        text = ptx_declarations.with_cluster(ptx, mangled, cluster)
        path = kernel_source.saved(text, "cluster.ptx")
        source = Source(str(path), contract="native", arch=self._source.arch)
        made = kernel_source.compiled(source, has_cubin=has_cubin)
        entry = next(entry for entry in made.entries.values() if entry.mangled == mangled)
        return replace(made, entries={self.name: entry}, symbols=program.symbols)


def _typed(symbol: str, value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, np.generic):
        return np.asarray(value)
    raise TypeError(f"{symbol}: pass an array, or a number as numpy.float32(…)")
