"""The server process of one program: it holds the virtual GPU, and ends with the program.

The driver library starts it with a socket and the file of the device's memory as its descriptors 3 and 4. A request is
(a magic number, its own number, bytes of its data) and the data; an answer is (result, bytes of data, of kernels'
output, of text for the user), and those. Numbers and layouts are those of `driver/driver.h`.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import field

from gpuregress.foundation.errors import (
    CompileError,
    DeviceError,
    GpuregressError,
    InfeasibleSource,
    KernelFault,
    LaunchRefused,
    LaunchStopped,
    RefusedSource,
    StorageError,
    UnsupportedError,
)
from gpuregress.gpu import limits
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.programs import LaunchShape, Program, offsets
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.programs import attributes, descriptors, environment, images, stream_races
from gpuregress.programs.buffer_dumps import BufferDumps
from gpuregress.programs.environment import SHARED_BYTES
from gpuregress.programs.launch_capture import LaunchCapture, PendingLaunch
from gpuregress.programs.launch_text import call_text
from gpuregress.programs.process_log import ProcessLog
from gpuregress.programs.records import LAUNCH, Incident
from gpuregress.programs.shared_space import SharedSpace
from gpuregress.programs.stream_races import Clock, StreamRaces, Work
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.device import CpuDevice
from gpuregress.virtual_gpu.module import CpuModule
from gpuregress.virtual_gpu.runtime import tensor_tiles
from gpuregress.virtual_gpu.runtime.program import NO_KERNEL

_SOCKET, _MEMORY = 3, 4
_HEAD = struct.Struct("<III")
_MAGIC = 0x53475056
"""What each request begins with: other bytes come from a program that writes to a descriptor that is not its own."""
_ANSWER = struct.Struct("<iIII")
_LAUNCH = struct.Struct("<I3I3II3IIQI4x")
_LAUNCH_REQUEST, _POSTED_LAUNCH = 9, 20
_BUFFERED = 1 << 16
"""Bytes of requests that are read at once."""
_FACTS = struct.Struct("<III18i")
_NOT_KEPT = contextlib.nullcontext()
_GRACE_S = 2.0
"""How long launches that a program has left may run on, and how long one may take to stop, seconds."""

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NO_BINARY, INVALID_PTX, NOT_FOUND, INVALID_IMAGE = 0, 1, 2, 209, 218, 500, 200
NOT_SUPPORTED, TOO_LARGE, LAUNCH_FAILED = 801, 720, 719
_RESULTS = {
    "out-of-bounds": 700, "illegal-access": 700, "misaligned": 716, "assert": 710, "deadlock": 702, "timeout": 702,
    "stack-overflow": 714, "illegal-instruction": 715,
}  # fmt: skip
"""A fault's kind → the driver's error; 719 for all others."""
_MANAGED, _PINNED, _REGISTERED = 2, 3, 4
_REGISTERS = 32
"""What is answered for a kernel's registers: `ptxas` would choose them. The virtual GPU has as many as PTX names."""
_WAITS_FOR_HOST = (
    "a kernel that waits for the program to write cannot run here: each launch ends before its call returns"
)

_FORGOTTEN = "more than 1 GiB of accesses in streams that nothing orders: races with the oldest of them are not found"
_ASSERTION = re.compile(r"assertion `(?P<expression>.*)` failed in (?P<function>.*), (?P<file>[^,]*):(?P<line>\d+)")


class Refusal(Exception):
    """A request that is answered by an error of the driver.

    Args:
        result: its number.
        text: for the user; "": the program is told enough.
        data: of the answer.
    """

    def __init__(self, result: int, text: str = "", data: bytes = b"") -> None:
        super().__init__(text)
        self.result, self.text, self.data = result, text, data


class PostedLaunches(MutableRecord):
    """What launches have left that the program has not waited for yet."""

    result: int = SUCCESS
    outputs: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


class LoadedModule:
    """A module of the program; each of several kernels is compiled when the program asks for it.

    Args:
        device: the virtual GPU.
        program: the module's.
        lazily: whether its kernels are compiled one by one.
    """

    def __init__(self, device: CpuDevice, program: Program, *, lazily: bool) -> None:
        self._device, self._lazily = device, lazily
        self.module = device.load(program, kernels=NO_KERNEL if lazily else None)
        self._kernels: dict[str, CpuModule] = {}
        self.clustered: dict[tuple[str, tuple[int, int, int]], CpuModule] = {}

    def with_kernel(self, name: str) -> CpuModule:
        """Return the module that has the code of a kernel.

        Raises:
            UnsupportedError: the kernel needs an instruction that is not there.
        """
        if not self._lazily:
            return self.module
        if name not in self._kernels:
            self._kernels[name] = self._device.load(self.module.program, kernels=(name,), usual=self.module)
        return self._kernels[name]

    def unload(self) -> None:
        """Free code and variables."""
        for module in (self.module, *self._kernels.values(), *self.clustered.values()):
            self._device.unload(module)
            Path(module.program.ptx).unlink(missing_ok=True)


class AskedLaunch(Record):
    """A launch that the program asks for."""

    loaded: LoadedModule
    module: CpuModule
    launch: PendingLaunch


class Server:
    """The virtual GPU of one program, and the answers to its requests.

    Args:
        settings: of `gpuregress exec`.
        client: id of the program's process.
    """

    def __init__(self, settings: environment.Settings, client: int) -> None:
        self._settings = settings
        self._space = SharedSpace(_MEMORY)
        self.device = CpuDevice(cache, self._space)
        self.device.instrument(Instruments(checks=settings.checks))
        if settings.schedule:
            self.device.follow(settings.schedule)
        self._log = ProcessLog(settings, client, self.device.info)
        self._dumps = BufferDumps(settings.case, Path(settings.folder), self._log)
        self.is_over = False
        self.is_late = False
        self.is_waited_for = False
        self._modules: dict[int, LoadedModule] = {}
        self._functions: dict[int, tuple[LoadedModule, str]] = {}
        self._files = 0
        self._capture: LaunchCapture | None = None
        if settings.capture is not None:
            self._capture = LaunchCapture(settings.capture, client, self.device.info, self._space)
        self._races = StreamRaces()
        self._exchanging: set[str] = set()
        self._clock: Clock | None = None
        self._output, self._message = "", ""
        self._posted = PostedLaunches()
        self._answers: dict[int, Callable[[bytes], bytes]] = {
            1: self._greet,
            2: self._allocate,
            3: self._place,
            4: self._free,
            5: self._load,
            6: self._unload,
            7: self._function,
            8: self._variable,
            9: self._launch,
            10: self._find,
            11: self._texture,
            12: self._tensor_map,
            13: self._limit_heap,
            14: self._occupancy,
            15: self._names,
            17: self._stream_work,
            18: self._synchronized,
            19: self._check_launch,
            21: self._finish_posted,
        }

    def answer(self, request: int, data: bytes) -> tuple[int, bytes, str, str]:
        """Carry out a request: result, data, output of kernels, text for the user."""
        self._output, self._message = "", ""
        result, answer = SUCCESS, b""
        try:
            if "uninitialized" in self._settings.checks:
                # Before regions are freed or made: a note tells an address, which another region may have later.
                self._space.take_notes()
            answer = self._answers[request](data)
        except Refusal as refusal:
            result, answer = refusal.result, refusal.data
            if refusal.text:
                self._say(refusal.text)
        except (DeviceError, StorageError, OSError) as error:
            result = OUT_OF_MEMORY  # What a GPU would not have either was refused by the driver library.
            self._note_limit("memory", error)
            self._say(str(error))
        return result, answer, self._output, self._message

    def post(self, data: bytes) -> None:
        """Carry out a launch that the program does not wait for; `FINISH` answers it, and all that came before."""
        posted = self._posted
        if posted.result:
            return  # As on a GPU, nothing runs after a launch that has failed.
        if self.is_late:
            self._note_unfinished(0, self._functions[_LAUNCH.unpack_from(data)[0]][1], "")
            return
        posted.result, _, output, message = self.answer(_LAUNCH_REQUEST, data)
        posted.outputs.append(output)
        posted.messages.append(message)

    def _finish_posted(self, _data: bytes) -> bytes:
        posted, self._posted = self._posted, PostedLaunches()
        self._output, self._message = "".join(posted.outputs), "".join(posted.messages)
        if posted.result:
            raise Refusal(posted.result)
        return b""

    def close(self) -> None:
        """Write the buffers that are left, and end the log of this process."""
        self.is_over = True
        with contextlib.suppress(OSError):  # the program's standard error may be closed
            os.write(sys.stderr.fileno(), "".join(self._posted.messages).encode())
        self._dumps.ended()
        self._log.close()

    def abandon(self) -> None:
        """End the log of this process while a launch runs that does not stop."""
        self._note_unfinished(0, "a kernel", "")
        self._log.close()

    def remove_orphaned_folder(self) -> None:
        """Remove the folder of the run if nobody is left who would: `gpuregress exec` was killed."""
        try:
            owner = os.pidfd_open(self._settings.owner)
        except ProcessLookupError:
            owner = None
        except OSError:  # an old kernel: the next run removes it
            return
        if owner is None or select.select([owner], [], [], 0)[0]:
            shutil.rmtree(self._settings.folder, ignore_errors=True)

    def _note_unfinished(self, launch: int, kernel: str, line: str) -> None:
        """Note that a launch had not ended when the program did."""
        if self._settings.case is not None:
            # It stays without an end in the log: a case that is killed at its limit blames it.
            text = f"{_shown(kernel)} still ran when the program ended, so that its results are not known"
            self._log.lose(LAUNCH, f"{text}: let the program wait for the GPU")
        elif launch:
            self._log.fault(launch, f"stopped: the program ended: {line}")

    def _say(self, text: str) -> None:
        self._message += f"gpuregress: {text}\n"

    def _greet(self, _data: bytes) -> bytes:
        return attributes.greeting(self.device.info, SHARED_BYTES)

    # --- memory -------------------------------------------------------------------------------------------------------

    def _allocate(self, data: bytes) -> bytes:
        address, size, kind, number = struct.unpack_from("<QQII", data)
        name = self._dumps.name_of_next(kind) or f"{data[24:].decode()} #{number}"
        if address:
            region = self._space.place(name, address, self._space.memory(size))
        else:
            region = self._space.allocate(name, size)
        # The program writes to these without a call that tells of it.
        region.is_filled = kind in (_MANAGED, _PINNED, _REGISTERED)
        self._dumps.allocated(region, kind)
        return struct.pack("<QQ", region.address, self._space.offset(region))

    def _place(self, data: bytes) -> bytes:
        """Give a managed variable a second address, which the program has, too."""
        low, address = struct.unpack("<QQ", data)
        region = self._space.find(address)
        if region is None or region.address != address:
            raise Refusal(INVALID_VALUE)
        self._space.place_alias(low, region)
        return b""

    def _free(self, data: bytes) -> bytes:
        (address,) = struct.unpack("<Q", data)
        region = self._space.find(address)
        if region is not None and region.address == address:
            self._dumps.freed(region)
        if region is not None:
            self._races.forget(region.address, region.address + region.size)
        if not self._space.free(address):
            raise Refusal(INVALID_VALUE)
        return b""

    def _find(self, data: bytes) -> bytes:
        (address,) = struct.unpack("<Q", data)
        region = self._space.find(address)
        if region is None or not region.number:
            raise Refusal(NOT_FOUND)
        return struct.pack("<QQQ", region.address, region.size, self._space.offset(region))

    def _limit_heap(self, data: bytes) -> bytes:
        self.device.limit_heap(*struct.unpack("<Q", data))
        return b""

    # --- modules ------------------------------------------------------------------------------------------------------

    def _file(self) -> Path:
        self._files += 1
        return Path(self._settings.folder, f"module-{os.getpid()}-{self._files}.ptx")

    def _load(self, data: bytes) -> bytes:
        try:
            ptx = images.ptx_of(data)
            program = images.program_of(ptx, self._file())
            lazily = len(program.entries) > 1 and not images.calls_by_address(ptx)
            loaded = LoadedModule(self.device, program, lazily=lazily)
        except images.NoImage as error:
            raise self._refused(INVALID_IMAGE, error) from error
        except (InfeasibleSource, RefusedSource) as error:
            raise self._refused(INVALID_PTX, error) from error
        except (CompileError, UnsupportedError) as error:
            self._note_limit("image", error)
            result = NO_BINARY if isinstance(error, images.NoPtx) else INVALID_PTX
            raise Refusal(result, str(error), str(error).encode()[:4096]) from error
        self._dumps.loaded(loaded.module.variables)
        number = len(self._modules) + 1
        self._modules[number] = loaded
        if self._capture is not None:
            self._capture.add_module(loaded.module)
        return struct.pack("<I", number)

    def _refused(self, result: int, error: Exception) -> Refusal:
        """Note that a GPU would refuse an image, too."""
        self._log.add(Incident(kind="refused", what="image", message=str(error)))
        return Refusal(result, str(error), str(error).encode()[:4096])

    def _note_limit(self, what: str, error: Exception, kernel: str = "", launch: int = 0) -> None:
        """Note what a GPU can perhaps do and this one cannot: the program's own exit code says nothing then."""
        kind: Literal["unsupported", "missing"] = "unsupported" if isinstance(error, UnsupportedError) else "missing"
        self._log.add(Incident(kind=kind, what=what, message=str(error), kernel=kernel, launch=launch))

    def _unload(self, data: bytes) -> bytes:
        loaded = self._modules[struct.unpack("<I", data)[0]]
        for region in loaded.module.variables.values():
            self._dumps.freed(region)
        loaded.unload()
        return b""

    def _function(self, data: bytes) -> bytes:
        loaded, name = self._modules[struct.unpack_from("<I", data)[0]], data[4:].decode("utf-8", "replace")
        if name not in loaded.module.program.entries:
            raise Refusal(NOT_FOUND)
        try:
            info = loaded.with_kernel(name).kernel(name)
        except UnsupportedError as error:
            self._log.add(Incident(kind="unsupported", what="instruction", message=str(error), kernel=name))
            raise Refusal(NOT_SUPPORTED, str(error)) from error
        number = len(self._functions) + 1
        self._functions[number] = loaded, name
        entry = loaded.module.program.entries[name]
        places, end = [], 0
        for start, parameter in zip(offsets(entry), entry.parameters, strict=True):
            end = start + parameter.size
            places.append(struct.pack("<II", start, parameter.size))
        values = [0] * 18
        values[0], values[1], values[2], values[3] = info.max_threads, info.shared, info.constant, info.local
        values[4], values[5], values[6] = info.registers or _REGISTERS, 90, 90
        values[8] = self.device.info.limits["max_shared"] - info.shared
        values[9] = -1
        if info.cluster != (1, 1, 1):
            values[11:14] = info.cluster
        return _FACTS.pack(number, len(places), end, *values) + b"".join(places)

    def _variable(self, data: bytes) -> bytes:
        loaded, name = self._modules[struct.unpack_from("<I", data)[0]], data[4:].decode("utf-8", "replace")
        region = loaded.module.variables.get(name)
        if region is None:
            raise Refusal(NOT_FOUND)
        return struct.pack("<QQ", region.address, region.size)

    def _names(self, data: bytes) -> bytes:
        loaded = self._modules[struct.unpack("<I", data)[0]]
        return b"".join(name.encode() + b"\0" for name in loaded.module.program.entries)

    # --- launches -----------------------------------------------------------------------------------------------------

    def _asked_launch(self, data: bytes) -> AskedLaunch:
        """Read what a launch asks for.

        Raises:
            Refusal: it asks for what cannot be.
        """
        number, *dims, shared, cluster_x, cluster_y, cluster_z, is_cooperative, _, takes_large_clusters = (
            _LAUNCH.unpack_from(data)
        )
        loaded, kernel = self._functions[number]
        shape = LaunchShape((dims[0], dims[1], dims[2]), (dims[3], dims[4], dims[5]), shared)
        cluster = cluster_x, cluster_y, cluster_z
        module = self._module(loaded, kernel, cluster)
        # The attribute of the function that allows clusters of more blocks than every GPU takes.
        if takes_large_clusters:
            module.large_clusters.add(kernel)
        else:
            module.large_clusters.discard(kernel)
        self._check_cooperation(module, kernel, shape, is_cooperative=bool(is_cooperative))
        launch = PendingLaunch(kernel, shape, cluster, is_cooperative=bool(is_cooperative))
        return AskedLaunch(loaded, module, launch)

    def _check_launch(self, data: bytes) -> bytes:
        """Refuse a launch that a GPU refuses; it comes later."""
        asked = self._asked_launch(data)
        kernel, shape = asked.launch.kernel, asked.launch.shape
        try:
            limits.check_launch(self.device.info, asked.module.kernel(kernel), shape.grid, shape.block, shape.shared)
        except LaunchRefused as error:
            self._log.add(Incident(kind="refused", what="launch", message=str(error), kernel=kernel))
            raise Refusal(INVALID_VALUE, str(error)) from error
        return b""

    def _launch(self, data: bytes) -> bytes:
        asked = self._asked_launch(data)
        module, kernel, shape = asked.module, asked.launch.kernel, asked.launch.shape
        entry = module.program.entries[kernel]
        space = data[_LAUNCH.size :]
        places = zip(offsets(entry), entry.parameters, strict=True)
        args = tuple(space[start : start + parameter.size] for start, parameter in places)
        call = call_text(self._space, entry, shape, args)
        launch = self._log.begin(call, module.module_facts.constant_bytes)
        kept: contextlib.AbstractContextManager[None] = _NOT_KEPT
        if self._capture is not None:
            pending = replace(asked.launch, number=launch, arguments=args)
            kept = self._capture.keep(pending, asked.loaded.with_kernel(kernel))
        report: LaunchReport | None = None
        clock, self._clock = self._clock, None
        try:
            with kept:
                report = self.device.launch(module, kernel, shape, args)
        except KernelFault as fault:
            report = self.device.interrupted()
            self._take_fault(launch, kernel, fault)
            raise Refusal(_RESULTS.get(fault.kind, LAUNCH_FAILED)) from fault
        except LaunchStopped as stopped:
            self._note_unfinished(launch, kernel, stopped.lines[0])
            raise Refusal(LAUNCH_FAILED) from stopped
        except UnsupportedError as error:
            self._log.fault(launch, str(error))
            self._note_limit("launch", error, kernel, launch)
            raise Refusal(NOT_SUPPORTED, str(error)) from error
        except DeviceError as error:
            self._log.fault(launch, str(error))
            if isinstance(error, LaunchRefused):
                self._log.add(Incident(kind="refused", what="launch", message=str(error), kernel=kernel, launch=launch))
            else:
                self._note_limit("launch", error, kernel, launch)
            raise Refusal(INVALID_VALUE, str(error)) from error
        finally:
            if report is not None:
                self._take_report(launch, kernel, report)
        self._log.end(launch, _shown(kernel), report)
        if clock is not None:
            lines = tuple(str(site.source_line) for site in module.module_facts.sites)
            name = f"{_shown(kernel)} (launch {launch})"
            self._add_work(Work(name, clock, tuple(self.device.touched()), lines, kernel, launch))
        return b""

    def _synchronized(self, _data: bytes) -> bytes:
        self._dumps.synchronized()
        return b""

    def _stream_work(self, data: bytes) -> bytes:
        """Take the clock of the launch that comes next, or a copy."""
        clock, call, touched = stream_races.read_message(data)
        if call:
            self._add_work(Work(call, clock, touched))
            return b""
        self._clock = clock
        self.device.keep_accesses()
        return b""

    def _add_work(self, work: Work) -> None:
        """Report the races of work with that of other streams."""
        for conflict in self._races.add(work):
            region = self._space.find(conflict.address)
            place = f"{region.name}[byte {conflict.address - region.address}]" if region else f"{conflict.address:#x}"
            accesses = " and ".join(conflict.accesses)
            incident = Incident(
                kind="finding",
                what="stream-race",
                message=f"race between streams on {place}: {accesses}, which no event and no synchronization orders",
                kernel=conflict.launched.kernel,
                launch=conflict.launched.launch,
                location=" and ".join(conflict.lines),
            )
            if self._log.add(incident):
                self._say(incident.message)
        if self._races.is_cut:
            self._note("unwatched", _FORGOTTEN, "", 0)

    def _module(self, loaded: LoadedModule, kernel: str, cluster: tuple[int, int, int]) -> CpuModule:
        """The module for a launch, in clusters of a size that only the launch tells where it does."""
        module = loaded.with_kernel(kernel)
        if cluster in ((0, 0, 0), module.facts(kernel).cluster) or cluster == (1, 1, 1):
            return module
        if 0 in cluster:
            raise Refusal(INVALID_VALUE)
        if (kernel, cluster) not in loaded.clustered:
            if module.facts(kernel).cluster != (1, 1, 1):
                raise Refusal(
                    INVALID_VALUE, f"{_shown(kernel)} has clusters of its own size, and the launch asks for another"
                )
            program = images.in_clusters(module.program, kernel, cluster, self._file())
            try:
                made = self.device.load(program, kernels=(kernel,), usual=module)
            except (CompileError, UnsupportedError) as error:
                self._note_limit("launch", error, kernel)
                raise Refusal(INVALID_VALUE, str(error)) from error
            loaded.clustered[kernel, cluster] = made
        return loaded.clustered[kernel, cluster]

    def _check_cooperation(self, module: CpuModule, kernel: str, shape: LaunchShape, *, is_cooperative: bool) -> None:
        """Refuse a cooperative grid that has no room, and one that waits for itself in another launch.

        Raises:
            Refusal: the error of the driver.
        """
        if is_cooperative:
            resident = limits.of_launch(self.device.info.limits, module.kernel(kernel), shape.block, shape.shared)
            if resident is not None and not limits.fits_at_once(self.device.info, shape.grid, resident.blocks):
                raise Refusal(TOO_LARGE)
        elif module.facts(kernel).cooperative:
            message = "the grid waits for itself (grid.sync) in a launch that is not cooperative"
            launch = self._log.begin(f"{_shown(kernel)}<<<{shape.grid},{shape.block},{shape.shared}>>>()", 0)
            self._take_fault(launch, kernel, KernelFault("trap", message))
            raise Refusal(LAUNCH_FAILED)

    def _take_fault(self, launch: int, kernel: str, fault: KernelFault) -> None:
        details = fault.details
        if fault.kind == "deadlock":
            details = (*details, _WAITS_FOR_HOST)
        self._log.fault(launch, f"{fault.kind}: {fault}")
        if fault.kind == "assert":
            self._message += _as_cuda_prints(fault)
        else:
            self._say(f"{_shown(kernel)}: {fault.kind}: {fault}")
        self._message += "".join(f"  {line}\n" for line in details)
        self._log.add(
            Incident(
                kind="fault",
                what=fault.kind,
                message=str(fault),
                details=details,
                kernel=kernel,
                launch=launch,
                location=str(fault.source_line or ""),
            )
        )

    def _take_report(self, launch: int, kernel: str, report: LaunchReport) -> None:
        self._output += report.output
        for finding in report.findings:
            incident = Incident(
                kind="finding",
                what=finding.kind,
                message=finding.message,
                details=finding.details,
                kernel=kernel,
                launch=launch,
                location=finding.location,
                count=finding.count,
            )
            if self._log.add(incident):
                self._say(f"{_shown(kernel)}: {finding.kind}: {finding.message}")
                self._message += "".join(f"  {line}\n" for line in finding.details)
        if not self._settings.checks:
            return
        if report.exchange and kernel not in self._exchanging:  # the text has threads, which differ in each launch
            self._exchanging.add(kernel)
            self._note("exchange", report.exchange, kernel, launch)
        self._note("unwatched", report.unwatched, kernel, launch)

    def _note(self, what: str, message: str, kernel: str, launch: int) -> None:
        """Note something of a check that is no finding, where there is anything: "" is nothing."""
        if not message:
            return
        note = Incident(kind="note", what=what, message=message, kernel=kernel, launch=launch)
        if self._log.add(note):
            self._say(f"{_shown(kernel)}: {message}" if kernel else message)

    def _occupancy(self, data: bytes) -> bytes:
        number, threads, shared = struct.unpack("<IIQ", data)
        loaded, kernel = self._functions[number]
        info, facts = loaded.with_kernel(kernel).kernel(kernel), self.device.info
        if threads > min(info.max_threads, facts.limits["max_threads"]):
            return struct.pack("<i", 0)
        resident = limits.of_launch(facts.limits, info, (threads, 1, 1), shared)
        return struct.pack("<i", resident.blocks if resident is not None else 0)

    # --- descriptors --------------------------------------------------------------------------------------------------

    def _texture(self, data: bytes) -> bytes:
        address, description = descriptors.texture(data)
        region = self._space.find(address)
        if region is None or not 0 <= address - region.address < region.size:
            raise Refusal(INVALID_VALUE)
        return struct.pack("<Q", self.device.texture(region, description, address - region.address))

    def _tensor_map(self, data: bytes) -> bytes:
        address, tensor = descriptors.tensor_map(data)
        region = self._space.find(address)
        if tensor is None or region is None:
            raise Refusal(INVALID_VALUE)
        if address - region.address + tensor.size > region.size:
            raise Refusal(INVALID_VALUE, f"{region.name} has {region.size} bytes; its tensor map has {tensor.size}")
        return tensor_tiles.pack(tensor, address)


def _as_cuda_prints(fault: KernelFault) -> str:
    """The line that CUDA itself prints for a failed assertion, which programs may read."""
    found = _ASSERTION.match(str(fault))
    if found is None or fault.block is None or fault.thread is None:
        return f"gpuregress: {fault}\n"
    block, thread = (",".join(map(str, place)) for place in (fault.block, fault.thread))
    place = f"block: [{block}], thread: [{thread}]"
    return f"{found['file']}:{found['line']}: {found['function']}: {place} Assertion `{found['expression']}` failed.\n"


def _shown(kernel: str) -> str:
    """A kernel's name as its source has it."""
    return demangle(kernel) or kernel


def _watch(server: Server, connection: socket.socket, others: tuple[int, ...]) -> None:
    """End this process when the program or `gpuregress exec` has ended, also while a kernel runs."""
    poll = select.poll()
    poll.register(connection, select.POLLHUP)
    for other in others:
        with contextlib.suppress(OSError):  # an old kernel, or a program that has ended already: the socket tells
            poll.register(os.pidfd_open(other), select.POLLIN)
    poll.poll()
    ended = time.monotonic()
    while time.monotonic() < ended + 2 * _GRACE_S:
        if server.is_over:
            return  # It writes what is left, and ends by itself.
        # Launches that were posted are carried out, as if the program had waited for each, so that no fault is lost.
        server.is_late = time.monotonic() > ended + _GRACE_S
        if server.is_late or server.is_waited_for:
            server.device.stop()
        time.sleep(0.05)
    server.abandon()
    server.remove_orphaned_folder()
    os._exit(1)


def main(client: int) -> None:
    """Serve one program until it ends.

    Args:
        client: id of its process.
    """
    connection = socket.socket(fileno=_SOCKET)
    try:
        settings = environment.read()
        server = Server(settings, client)
    except (GpuregressError, OSError) as error:
        text = f"gpuregress: {error}\n".encode()
        connection.sendall(_ANSWER.pack(NOT_SUPPORTED, 0, 0, len(text)) + text)
        sys.exit(1)
    threading.Thread(target=_watch, args=(server, connection, (client, settings.owner)), daemon=True).start()
    requests = connection.makefile("rb", _BUFFERED)  # Launches that are posted come many at a time.
    try:
        while head := requests.read(_HEAD.size):
            magic, request, size = _HEAD.unpack(head)
            if magic != _MAGIC:
                break
            body = requests.read(size)
            if len(body) < size:
                break
            if request == _POSTED_LAUNCH:
                server.post(body)
                continue
            server.is_waited_for = True
            result, data, output, message = server.answer(request, body)
            server.is_waited_for = False
            out, text = output.encode(), message.encode()
            connection.sendall(_ANSWER.pack(result, len(data), len(out), len(text)) + data + out + text)
    except (ConnectionError, struct.error):
        pass  # the program has ended
    server.close()
    server.remove_orphaned_folder()
    os._exit(0)  # Nothing is left to be done, and what Python and LLVM would tidy takes a tenth of a second.
