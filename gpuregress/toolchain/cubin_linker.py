"""Assembly of PTX to a cubin, by nvJitLink or ptxas; needs no GPU and no driver.

A cubin of one CUDA major version loads on any driver of that version, while PTX of a newer NVRTC than the driver does
not; so cubins are what a GPU gets, and they can be built where there is none.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuregress.foundation import storage
from gpuregress.foundation.errors import CodeLine, CompileError, HarnessError, InfeasibleSource
from gpuregress.foundation.records import Program, from_json, to_json
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import cache

_ENTRY = re.compile(r"(?:Compiling entry function|Function properties for) '?(?P<name>[\w$.]+)'?")
_ERROR = re.compile(r"\berror\b.*: (?!.*JIT the PTX)")
_TOO_MUCH = re.compile(r"uses too much (?:shared|global constant|parameter) ")
_ERROR_HEAD = re.compile(r"^.*?\berror\b[^:]*: *")
_VERSION = re.compile(r"^\s*\.version\s+(\d+\.\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+(sm_\w+)", re.MULTILINE)
_PTX_LINE = re.compile(r"ptxas application ptx input, line (\d+); *")
_SPILL = re.compile(r"(\d+) bytes spill stores")
_OF_ONE_ARCHITECTURE = re.compile(r"Instruction '(?:wgmma|setmaxnreg)[^']*' not supported on \.target")
_FIGURES = {
    "registers": re.compile(r"used (\d+) registers", re.IGNORECASE),
    "stack": re.compile(r"(?:(\d+) bytes stack frame|(?<= )(\d+) stack\b)"),
    "shared": re.compile(r"(\d+) bytes smem"),
    "constant": re.compile(r"(\d+) bytes cmem\[0\]"),
    "local": re.compile(r"(\d+) bytes lmem"),
}


class LinkResult(Record):
    """A cubin and the resources of its kernels.

    Attributes:
        cubin: an ELF image.
        linker: `nvjitlink 13.5` or `ptxas 13.5.37`.
        resources: mangled kernel → `registers`, `spill`, `stack`, `shared`, `constant`, `local` (bytes but for the
            first; those that the assembler did not tell are left out).
    """

    cubin: bytes
    linker: str
    resources: Mapping[str, Mapping[str, int]]


def link(ptx: str, arch: str, name: str) -> LinkResult:
    """Assemble PTX for one architecture.

    nvJitLink comes first, then the ptxas on PATH. One that is too old for the PTX is asked once only.

    Args:
        ptx: a whole module.
        arch: `sm_90`.
        name: what messages call the module.

    Raises:
        CompileError: the assembler refuses the PTX.
        HarnessError: neither nvJitLink nor ptxas is here, or what is here is too old.
    """
    version, target = _VERSION.search(ptx), _TARGET.search(ptx)
    modules = [(version[1], one) for one in {arch, target[1]}] if version is not None and target is not None else []
    too_old = []
    for assembler in _assemblers():
        if any((assembler.name, *one) in _REFUSED_MODULES for one in modules):
            too_old.append(assembler.name)
            continue
        try:
            return assembler.assemble(ptx, arch, name)
        except InfeasibleSource:
            raise
        except CompileError:
            refused = [one for one in modules if not _takes(assembler, *one)]
            if not refused:
                raise
            _REFUSED_MODULES.update((assembler.name, *one) for one in refused)
            too_old.append(assembler.name)
    if too_old:
        cannot = f"{' and '.join(too_old)} cannot assemble PTX {modules[0][0]} for {arch}, and may be too old"
        raise HarnessError(
            f"{cannot}: `pip install 'gpuregress[cuda]'` brings a newer nvJitLink; or put the ptxas of a newer CUDA "
            "toolkit first on PATH; or leave the assembly to the driver (`gpuregress build --ptx-only`)"
        )
    raise HarnessError(
        "no assembler for GPU code here: `pip install 'gpuregress[cuda]'` brings nvJitLink; or build elsewhere with "
        "`gpuregress build` and name its folder with GPUREGRESS_CACHE",
    )


class _Assembler(Record):
    """An assembler that is installed here.

    Attributes:
        name: with its version, and its path where it is a program.
        assemble: PTX, architecture, name of the module → the result.
    """

    name: str
    assemble: Callable[[str, str, str], LinkResult]


_REFUSED_MODULES: set[tuple[str, str, str]] = set()
"""Assembler, version of PTX and architecture that do not go together: known after the first program."""


def _assemblers() -> Iterator[_Assembler]:
    """The assemblers of this host, the better one first; nothing is started before it is needed.

    Under `gpuregress exec` it is the stand-in alone, which gives PTX. It is loaded by its path first: cuda.bindings
    takes a library of that name that the process has, and looks into its own packages otherwise.
    """
    stand_ins = os.environ.get(cache.STAND_INS)
    if stand_ins:
        ctypes.CDLL(str(Path(stand_ins, "libnvJitLink.so.13")))
    try:
        from cuda.bindings import nvjitlink  # noqa: PLC0415 - heavy, and an extra

        major, minor = nvjitlink.version()
    except (ImportError, RuntimeError, OSError):
        pass
    else:
        yield _Assembler(f"nvJitLink {major}.{minor}", functools.partial(_by_nvjitlink, nvjitlink))
    ptxas = shutil.which("ptxas")
    if ptxas is not None and not stand_ins:
        yield _Assembler(f"ptxas {_ptxas_release(ptxas)} ({ptxas})", functools.partial(_by_ptxas, ptxas))


def _takes(assembler: _Assembler, version: str, arch: str) -> bool:
    """Tell whether an assembler takes PTX of a version for an architecture: it is given a module without code."""
    try:
        assembler.assemble(f".version {version}\n.target {arch}\n.address_size 64\n", arch, "empty.ptx")
    except CompileError:
        return False
    return True


def parse_resources(log: str) -> dict[str, dict[str, int]]:
    """Parse the resources of each kernel from a verbose log of ptxas or nvJitLink.

    Args:
        log: lines as `ptxas info : Used 26 registers, …` after a line that names the kernel.
    """
    resources: dict[str, dict[str, int]] = {}
    kernel = ""
    for line in log.splitlines():
        named = _ENTRY.search(line)
        if named is not None:
            kernel = named["name"]
            resources.setdefault(kernel, {})
            continue
        if not kernel:
            continue
        spill = _SPILL.search(line)
        if spill is not None:
            resources[kernel]["spill"] = int(spill[1])
        for what, pattern in _FIGURES.items():
            match = pattern.search(line)
            if match is not None:
                resources[kernel][what] = int(next(group for group in match.groups() if group is not None))
    return resources


def _by_nvjitlink(nvjitlink: Any, ptx: str, arch: str, name: str) -> LinkResult:
    data = ptx.encode() + b"\0"
    options = [f"-arch={arch}", "-lineinfo", "-verbose"]
    try:
        handle = nvjitlink.create(len(options), options)
    except nvjitlink.nvJitLinkError as error:  # an architecture that it does not know
        raise _refusal(str(error), name, arch) from error
    try:
        try:
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), name)
            nvjitlink.complete(handle)
        except nvjitlink.nvJitLinkError as error:
            log = _log(handle, nvjitlink.get_error_log_size, nvjitlink.get_error_log)
            raise _refusal(log or str(error), name, arch) from error
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = _log(handle, nvjitlink.get_info_log_size, nvjitlink.get_info_log)
        major, minor = nvjitlink.version()
        return LinkResult(bytes(cubin), f"nvjitlink {major}.{minor}", parse_resources(log))
    finally:
        nvjitlink.destroy(handle)


def _by_ptxas(ptxas: str, ptx: str, arch: str, name: str) -> LinkResult:
    with storage.scratch() as folder:
        source, target = folder / "module.ptx", folder / "module.cubin"
        source.write_text(ptx, encoding="utf-8")
        command = [ptxas, "-v", f"-arch={arch}", "-lineinfo", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise _refusal(done.stderr.replace(str(source), name), name, arch)
        return LinkResult(target.read_bytes(), f"ptxas {_ptxas_release(ptxas)}", parse_resources(done.stderr))


@functools.cache
def _ptxas_release(ptxas: str) -> str:
    done = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"V([\d.]+)", done.stdout)
    return match[1] if match else "of unknown version"


def _log(handle: Any, size_of: Any, read: Any) -> str:
    buffer = bytearray(size_of(handle))
    if not buffer:
        return ""
    read(handle, buffer)
    return buffer.rstrip(b"\0").decode(errors="replace").strip()


def _refusal(log: str, name: str, arch: str) -> CompileError:
    """The error for PTX that the assembler refuses, with the assembler's own words."""
    errors = [line for line in log.splitlines() if _ERROR.search(line)]
    if errors and all(_TOO_MUCH.search(line) for line in errors):
        return InfeasibleSource("\n".join((f"the assembler refuses this program for {arch}:", *map(_limit, errors))))
    text = _PTX_LINE.sub(rf"{name}:\1: ", log.strip())
    lines = [line.strip() for line in text.splitlines() if line.strip() and "JIT the PTX" not in line]
    if arch[-1:].isdigit() and _OF_ONE_ARCHITECTURE.search(text):
        lines.append(f"write `compile: {{arch: {arch}a}}` in the job to use these")
    first = _PTX_LINE.search(log)
    source_line = CodeLine("", int(first[1])) if first is not None else None
    return CompileError("\n".join((f"{name} does not assemble for {arch}:", *lines)), source_line=source_line)


def _limit(line: str) -> str:
    """The text of a line on too much memory, with the kernel as C++ names it and decimal numbers."""
    text = _ERROR_HEAD.sub("", line.strip())
    text = re.sub(r"_Z\w+", lambda name: demangle(name[0]) or name[0], text)
    return re.sub(r"\b0x[0-9a-fA-F]+", lambda number: str(int(number[0], 16)), text)


# --- machine code of compiled programs, found in the cache or assembled -----------------------------------------------


PINNED = "13.5"
"""The minor version of NVRTC and nvJitLink that pyproject.toml asks for: part of every key.

Compiled results change with it, and a host without a compiler must find what was built elsewhere.
"""


def build_cubin(program: Program) -> Program:
    """Return the program with a cubin for its architecture, from the cache or assembled.

    Args:
        program: from `compile`.

    Raises:
        CompileError: the assembler refuses the PTX, now or before.
        HarnessError: it is not in the cache, and neither nvJitLink nor ptxas is here.
        StorageError: the cache cannot be written.
    """
    if program.cubin or not program.ptx:
        return program
    key = key_of(program)
    known = cache.load(key)
    if known is None:
        with cache.making(key):
            known = cache.load(key)
            if known is None:
                known = _link(program, key)
    check_refusal(known)
    return replace(program, cubin=str(cache.file_path(key, ".cubin")))


def _link(program: Program, key: str) -> dict[str, Any]:
    """Assemble a program's PTX into the cache; return the record."""
    ptx = Path(program.ptx)
    try:
        linked = link(storage.read_bytes(ptx).decode(errors="replace"), program.arch, ptx.name)
    except InfeasibleSource as refused:
        store_refusal(key, str(refused), refused.source_line)
        raise
    record = {"linker": linked.linker, "resources": linked.resources}
    cache.store(key, record, {".cubin": linked.cubin})
    return record


def resources(program: Program) -> dict[str, dict[str, int]]:
    """Return the resources of a program's kernels: mangled name → `registers`, `spill`, `stack`, … (bytes).

    Empty where no cubin of it was built here or carried here.
    """
    record = cache.load(key_of(program)) or {}
    of_kernels: dict[str, dict[str, int]] = record.get("resources", {})
    return of_kernels


def store_refusal(key: str, message: str, line: CodeLine | None = None) -> None:
    """Store that a program cannot be built, for later runs and for hosts without a compiler."""
    cache.store(key, {"infeasible": message, "source_line": to_json(line)}, {})


def check_refusal(record: Mapping[str, Any]) -> None:
    """Raise the error of a program that was refused before."""
    if "infeasible" in record:
        line = record.get("source_line")
        if line is not None:
            line = from_json(CodeLine, line)
        raise InfeasibleSource(str(record["infeasible"]), source_line=line)


def key_of(program: Program) -> str:
    """The cache key of a program's machine code."""
    linker = "stand-in" if os.environ.get(cache.STAND_INS) else "linked"
    return cache.digest((linker, PINNED, program.arch, program.key))
