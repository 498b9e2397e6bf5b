"""Capture of chosen launches of a program, with the contents of their memory.

`gpuregress.lab.capture` reads the records and makes jobs of them. The injection library of `gpuregress capture` writes
the same records on a GPU. Contents are files beside them.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gpuregress.gpu import demangle
from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.errors import DeviceError, KernelFault, UnsupportedError
from gpuregress.gpu.programs import DeviceInfo, Dim3, LaunchShape, offsets
from gpuregress.gpu.records import MutableRecord, Record
from gpuregress.programs.environment import CaptureSettings
from gpuregress.programs.process_log import command_line
from gpuregress.virtual_gpu.module import CpuModule
from gpuregress.virtual_gpu.runtime.machine_layout import GATHER, HEAP_FIRST, MAX_REGIONS, REGION_SHIFT, SLOT_BITS
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region

_VERSION = 13000
_NEXT_PROGRAM = 10_000_000
"""What is added to a process id for each program that the process becomes by `execve`."""
_PIECE = 1 << 20
"""Words of contents that are searched for addresses at once."""
_DECORATION = re.compile(r"\[abi:[^\]]*\]|\(anonymous namespace\)|<.*")
"""What a kernel's plain name is without: ABI tags, which Numba adds, and template arguments."""


class PendingLaunch(Record):
    """A launch that comes next.

    Attributes:
        kernel: mangled name.
        shape: its threads.
        cluster: blocks of a cluster that the launch itself asks for; zeros: none.
        is_cooperative: whether it is a cooperative launch.
        number: in the launch log; 0 before it has one.
        arguments: each argument's bytes.
    """

    kernel: str
    shape: LaunchShape
    cluster: Dim3
    is_cooperative: bool
    number: int = 0
    arguments: tuple[bytes, ...] = ()


class _Stretch(MutableRecord):
    """A region, and the part of it whose contents are kept."""

    region: Region
    symbol: str
    start: int
    length: int
    first_pointer: int

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """Its contents."""
        offset = self.start - self.region.address
        return self.region.data[offset : offset + self.length]

    def cut(self, most: int) -> None:
        """Keep at most so many bytes: of a variable the first ones, of an allocation those behind the pointers."""
        if self.length <= most:
            return
        if not self.symbol:
            self.start = max(self.region.address, self.first_pointer & ~255)
        self.length = min(most, self.region.address + self.region.size - self.start)


class LaunchCapture:
    """Writer of the records of one process.

    Args:
        settings: which launches are kept, and where.
        client: id of the program's process.
        info: of the device.
        space: its memory.
    """

    def __init__(self, settings: CaptureSettings, client: int, info: DeviceInfo, space: AddressSpace) -> None:
        self._folder, self._choice, self._space = Path(settings.folder), settings.choice, space
        self._process = client
        while True:
            try:
                self._records = (self._folder / f"{self._process}.jsonl").open("xb", buffering=0)
                break
            except FileExistsError:
                self._process += _NEXT_PROGRAM
        self._launches: Counter[str] = Counter()
        self._kept_bytes: Counter[str] = Counter()
        self._wanted: dict[str, bool] = {}
        self._initial: dict[str, dict[str, bytes]] = {}
        self._write(
            event="process",
            process=client,
            version=_VERSION,
            architecture=info.arch,
            device="the virtual GPU",
            virtual=True,
            command=[word.decode("latin-1") for word in command_line(client)],  # each letter stands for a byte
        )

    def add_module(self, module: CpuModule) -> None:
        """Note the initial contents of a module's variables, which its PTX gives them in a job, too."""
        self._initial[module.program.ptx] = {name: _digest(region) for name, region in module.variables.items()}

    @contextlib.contextmanager
    def keep(self, launch: PendingLaunch, module: CpuModule) -> Iterator[None]:
        """Keep what a launch finds and leaves, if it is a chosen one."""
        stretches = self._begin(launch, module)
        if stretches is None:
            yield
            return
        try:
            yield
        except KernelFault as fault:
            self._write(event="after", number=launch.number, result=f"a fault ({fault.kind})")
            raise
        except (DeviceError, UnsupportedError) as error:
            self._refuse(launch, str(error))
            raise
        self._keep_contents(launch, stretches, "after")
        self._write(event="after", number=launch.number, result="")

    def _begin(self, launch: PendingLaunch, module: CpuModule) -> list[_Stretch] | None:
        """Write what is there before a launch; None: it is not kept."""
        kernel = launch.kernel
        if kernel not in self._wanted:
            self._wanted[kernel] = any(
                fnmatch.fnmatchcase(name, self._choice.kernels) for name in _names_of_kernel(kernel)
            )
        self._launches[kernel] += 1
        if not self._wanted[kernel] or not self._choice.keeps(self._launches[kernel]):
            return None
        cluster = launch.cluster if all(launch.cluster) else module.facts(kernel).cluster
        if math.prod(cluster) > SM_90.portable_cluster:
            self._refuse(launch, f"it is launched in clusters of more than {SM_90.portable_cluster} blocks")
            return None
        places = offsets(module.program.entries[kernel])
        stretches, pointers = self._find_memory(places, launch.arguments)
        stretches += [
            _Stretch(region, name, region.address, region.size, region.address)
            for name, region in module.variables.items()
        ]
        self._share(kernel, stretches)
        kept = self._keep_contents(launch, stretches, "before")
        initial = self._initial.get(module.program.ptx, {})
        self._write(
            event="before",
            number=launch.number,
            kernel=kernel,
            occurrence=self._launches[kernel],
            image=self._image(module),
            grid=launch.shape.grid,
            block=launch.shape.block,
            cluster=cluster,
            shared=launch.shape.shared,
            cooperative=launch.is_cooperative,
            parameters=[
                {"offset": offset, "data": data.hex()} for offset, data in zip(places, launch.arguments, strict=True)
            ],
            pointers=pointers,
            regions=[
                self._described(stretch, is_kept=is_kept, initial=initial)
                for stretch, is_kept in zip(stretches, kept, strict=True)
            ],
        )
        return stretches

    def _find_memory(
        self, places: list[int], arguments: tuple[bytes, ...]
    ) -> tuple[list[_Stretch], list[dict[str, int]]]:
        """The memory that arguments lead to, and their pointers: words at multiples of eight bytes."""
        stretches: dict[int, _Stretch] = {}
        pointers: list[dict[str, int]] = []
        for offset, data in zip(places, arguments, strict=True):
            for place in range(offset + -offset % 8, offset + len(data) - 7, 8):
                address = int.from_bytes(data[place - offset : place - offset + 8], "little")
                region = self._space.find(address)
                if region is None or not 0 <= address - region.address < region.size:
                    continue
                stretch = stretches.setdefault(
                    region.address, _Stretch(region, "", region.address, region.size, address)
                )
                stretch.first_pointer = min(stretch.first_pointer, address)
                number = list(stretches).index(region.address)
                pointers.append({"at": place, "address": address, "region": number})
        return list(stretches.values()), pointers

    def _share(self, kernel: str, stretches: list[_Stretch]) -> None:
        """Share what may be kept of a kernel: small regions are kept whole, of large ones a part."""
        room = max(0, self._choice.max_bytes - self._kept_bytes[kernel])
        by_size = sorted(stretches, key=lambda stretch: stretch.length)
        for number, stretch in enumerate(by_size):
            stretch.cut(room // (len(by_size) - number))
            room -= stretch.length
            self._kept_bytes[kernel] += stretch.length

    def _keep_contents(self, launch: PendingLaunch, stretches: list[_Stretch], when: str) -> list[bool]:
        """Write the contents of each stretch to a file; whether that was possible."""
        kept = []
        for number, stretch in enumerate(stretches):
            path = self._folder / f"{self._process}.{launch.number}.{number}.{when}"
            try:
                stretch.data.tofile(path)
                kept.append(True)
            except OSError:  # no space: the launch cannot become a job, and the program goes on
                path.unlink(missing_ok=True)
                kept.append(False)
        return kept

    def _described(self, stretch: _Stretch, *, is_kept: bool, initial: dict[str, bytes]) -> dict[str, Any]:
        fields = {
            "base": stretch.region.address,
            "size": stretch.region.size,
            "start": stretch.start,
            "length": stretch.length,
            "memory": "device",  # No host writes to it while a launch runs.
            "kept": is_kept,
            "symbol": stretch.symbol,
            "holds": self._address_in(stretch.data),
        }
        if stretch.symbol in initial:
            fields["initial"] = initial[stretch.symbol] == _digest(stretch.region)
        return fields

    def _address_in(self, data: npt.NDArray[np.uint8]) -> int:
        """An address of device memory that contents hold; 0: none."""
        whole = data[: data.size - data.size % 8].view(np.uint64)
        for start in range(0, whole.size, _PIECE):
            words = whole[start : start + _PIECE]
            slots = words >> np.uint64(REGION_SHIFT)
            words, slots = words[slots < 1 << SLOT_BITS], slots[slots < 1 << SLOT_BITS]
            numbers = slots * np.uint64(GATHER) % np.uint64(1 << SLOT_BITS)
            rows = self._space.table
            inside = words - rows[numbers, 2] < rows[numbers, 1]
            if inside.any():
                return int(words[inside.argmax()])
            for word in words[(numbers >= HEAP_FIRST) & (numbers < MAX_REGIONS)].tolist():
                if self._space.find(word) is not None:
                    return int(word)
        return 0

    def _image(self, module: CpuModule) -> int:
        """The number of a module's PTX, which is written once."""
        number = int(module.program.key[:12], 16)
        path = self._folder / f"{self._process}.image{number}.given"
        if not path.exists():
            with contextlib.suppress(OSError):
                shutil.copyfile(module.program.ptx, path)
        return number

    def _refuse(self, launch: PendingLaunch, reason: str) -> None:
        self._write(event="refused", number=launch.number, kernel=launch.kernel, reason=reason)

    def _write(self, **fields: Any) -> None:
        with contextlib.suppress(OSError):
            self._records.write(msgspec.json.encode(fields) + b"\n")


def _names_of_kernel(mangled: str) -> list[str]:
    """The names by which a user may call a kernel: `_Z1kIfEvPT_`, `void a::k<float>(float*)`, `a::k<float>`, `k`."""
    text = demangle.full_name(mangled)
    if not text:
        return [mangled]
    name, _ = demangle.split_parameters(text)
    plain = _DECORATION.sub("", name)
    return [mangled, text, name, plain, plain.rpartition("::")[2]]


def _digest(region: Region) -> bytes:
    return hashlib.sha256(region.data.tobytes()).digest()
