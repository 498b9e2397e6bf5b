"""A program that is loaded onto the virtual GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpuregress.gpu import base
from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.base import KernelInfo
from gpuregress.gpu.errors import DeviceError, UnsupportedError
from gpuregress.gpu.programs import Dim3, LineEdit, Program, pack
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.compilation.object_cache import compiled
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region, allocate_variables
from gpuregress.virtual_gpu.runtime.probe_sites import COUNTERS
from gpuregress.virtual_gpu.runtime.program import CompiledModule, KernelFacts, Schedule
from gpuregress.virtual_gpu.runtime.special_function_tables import table


class CpuModule(base.DeviceModule):
    """A loaded program: its PTX translated, or found in the cache.

    Args:
        program: from the toolchain.
        space: where its variables go.
        schedule: how the threads of a block are run.
        kernels: mangled names of those that are compiled.
        usual: the module of the same program whose variables it shares.
        cache: where compiled modules and unpacked tables are kept.

    Attributes:
        variants: schedule -> the module for launches that need it.
        large_clusters: kernels for which a program has allowed clusters of more blocks than every GPU takes.
        mnemonics: of the instructions that faults can name, by number.
        allowed: launches that were found to be within the limits.
    """

    def __init__(
        self,
        program: Program,
        space: AddressSpace,
        schedule: Schedule,
        kernels: tuple[str, ...],
        usual: CpuModule | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.program = program
        self.schedule, self.kernels = schedule, kernels
        self.is_optimised = schedule.is_optimised
        built = _built(program, kernels, schedule, cache)
        self.module_facts = built.facts
        self.mnemonics = [site.mnemonic for site in built.facts.sites]
        self.allowed: set[tuple[str, Dim3, Dim3, int, bool]] = set()
        self._loaded = llvm_backend.LoadedCode(built.code)
        self._functions: dict[str, Callable[[int], int]] = {}
        self._entries = {entry.mangled: entry for entry in program.entries.values()}
        self.variants: dict[Schedule, CpuModule] = {}
        self.large_clusters: set[str] = set()
        self.variables: dict[str, Region] = usual.variables if usual else allocate_variables(built.facts, space)
        self.addresses = {name: region.address for name, region in self.variables.items()}
        # Those of the module that it shares them with may be more: it may have kernels that this one does not.
        regions = [self.variables[item.name] for item in built.facts.variables]
        rows = [(region.address, region.host) for region in regions]
        self.symbols = np.array(rows or [(0, 0)], np.uint64)
        # A module and an object can be hashed; mypy does not take that from a protocol.
        self._tables = [table(name, cache) for name in built.facts.tables]  # type: ignore[arg-type]
        self.counters = np.zeros(sum(COUNTERS[site.kind] for site in built.facts.probes) or 1, np.uint64)
        self.tables = np.array([item.ctypes.data for item in self._tables] or [0], np.uint64)

    def kernel(self, name: str) -> KernelInfo:
        """The kernel of this mangled name.

        Raises:
            DeviceError: there is none; names those that are there.
            UnsupportedError: it needs an instruction that is not there.
        """
        facts = self.facts(name)
        return KernelInfo(
            name,
            shared=facts.static_shared,
            local=facts.declared_local,
            constant=self.module_facts.constant_bytes,
            max_threads=facts.max_threads,
            cluster=facts.cluster,
            block=facts.required_block,
            takes_large_clusters=name in self.large_clusters,
        )

    def facts(self, name: str) -> KernelFacts:
        """Return the launch facts of a kernel."""
        if name in self.module_facts.refused:
            message, line = self.module_facts.refused[name]
            raise UnsupportedError(message, source_line=line)
        if name not in self.module_facts.kernels:
            there = ", ".join(self.module_facts.kernels) or "none"
            raise DeviceError(f"no kernel {name} in this program; there are: {there}")
        return self.module_facts.kernels[name]

    def symbol(self, name: str) -> Region:
        """A `__constant__` or `__device__` variable by its mangled or plain name.

        Raises:
            DeviceError: there is none.
        """
        mangled = self.program.symbols.get(name, name)
        if mangled not in self.variables:
            there = ", ".join(self.program.symbols) or "none"
            raise DeviceError(f"no variable {name} in this program; there are: {there}")
        return self.variables[mangled]

    def pack(self, name: str, args: tuple[bytes, ...]) -> bytes:
        """The kernel's parameter space."""
        return pack(self._entries[name], args)

    def function(self, facts: KernelFacts) -> Callable[[int], int]:
        """The compiled kernel, to be called with the machine's address."""
        if facts.symbol not in self._functions:
            kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
            self._functions[facts.symbol] = kind(self._loaded.address(facts.symbol))
        return self._functions[facts.symbol]

    def close(self) -> None:
        """Free the code."""
        self._functions.clear()
        self._loaded.close()


def _built(program: Program, kernels: tuple[str, ...], schedule: Schedule, cache: Cache | None) -> CompiledModule:
    """Some kernels of a program's PTX, compiled or from the cache."""
    if not program.ptx:
        raise DeviceError("the cpu device runs PTX; this program has none (only a cubin)")
    try:
        text = Path(program.ptx).read_text(encoding="utf-8")
    except OSError as error:
        raise DeviceError(f"cannot read the compiled program {program.ptx}: {error.strerror}") from error
    text = edited(text, program.local_arrays)
    built = compiled(text, kernels, schedule, library_files=program.library_files, cache=cache)
    if cache is not None and built.seconds:
        cache.note_stages(program.key, built.seconds)
    return built


def edited(text: str, edits: tuple[LineEdit, ...]) -> str:
    """A text with lines replaced, unless one of them is another one: then it is not the text that the edits are of."""
    lines = text.split("\n")
    for edit in edits:
        if edit.line > len(lines) or lines[edit.line - 1] != edit.before:
            return text
        lines[edit.line - 1] = edit.after
    return "\n".join(lines)


def warp_width(block: Dim3) -> int:
    """Threads of a warp along x: 32 where a warp is a part of a row; fewer where it is whole rows; 0: neither."""
    x, y, z = block
    if x % SM_90.warp_size == 0 or y * z == 1:
        return SM_90.warp_size
    if SM_90.warp_size % x == 0 and (z == 1 or x * y % SM_90.warp_size == 0):
        return x
    return 0
