"""Job of a captured launch, with its source and contents."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.document import units
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Parameter
from gpuregress.gpu.records import Record, replace
from gpuregress.lab.capture import buffers, job_text, signature
from gpuregress.lab.capture.buffers import Layout
from gpuregress.lab.capture.images import ptx_search
from gpuregress.lab.capture.images.ptx_search import FoundPtx
from gpuregress.lab.capture.records import CapturedLaunch, CapturedProcess, RawParameter
from gpuregress.lab.capture.replay import launch as replays
from gpuregress.lab.capture.replay.launch import Patch, Replay, ReplayMemory
from gpuregress.lab.capture.signature import ParameterType
from gpuregress.toolchain import cxx_declarations, ptx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration

_TEXTURES = re.compile(r"\b(tex|tld4|suld|sust|sured)\.")
_MAPS = re.compile(r"\b(?:cp\.(?:reduce\.)?async\.bulk\.(?:prefetch\.)?tensor)\.")
_WORD = re.compile(r"[\w$]+")


class CannotCapture(Exception):
    """Why a launch cannot become a job, in words."""


class WrittenJob(Record):
    """A job that was written.

    Attributes:
        path: of the job.
        launch: that it replays.
        kernel: its C++ name.
        verdict: what the replay on the CPU device found, in words.
    """

    path: Path
    launch: CapturedLaunch
    kernel: str
    verdict: str


class Target(Record):
    """Where a job goes.

    Attributes:
        job: the job's file.
        folder: for its source and contents.
    """

    job: Path
    folder: Path


def write(
    launch: CapturedLaunch, process: CapturedProcess, target: Target, source: Path | None, seconds: float
) -> WrittenJob:
    """Write the job of a launch.

    Args:
        launch: the captured one.
        process: that made it.
        target: where it goes.
        source: the user's source of the kernel; None: the captured PTX or machine code.
        seconds: the time limit of a replay.

    Raises:
        CannotCapture: a job cannot say what the launch was.
        StorageError: a file cannot be written.
    """
    _refuse_what_was_not_kept(launch)
    card = int("".join(filter(str.isdigit, process.architecture)) or 0)
    found = ptx_search.find(launch.kernel, launch.given, launch.cubin, process.mapped, card or 999)
    found = _with_cluster(found, launch)
    types = _types(launch, found, source)
    symbols = [region.symbol for region in launch.regions if region.symbol]
    parameters: tuple[Parameter, ...] = ()
    if found is not None:
        parameters = _parameters(launch, found)
        code = ptx_declarations.reachable_code(found.text, launch.kernel)
        _refuse_objects(code)
        used = set(_WORD.findall(code))
        symbols = [symbol for symbol in symbols if symbol in used]
    with storage.scratch() as scratch:
        layout, result = _laid_out(launch, types, found, symbols, scratch, seconds)
    _refuse_what_was_cut(launch, result)
    _refuse_addresses(launch, layout)
    remarks = list(_remarks(launch, layout, found, result, with_origin=source is None))
    arguments, more = write_arguments(launch, layout, types, parameters)
    remarks += more
    on_gpu = "" if found or source else "there is no PTX of the kernel, only machine code"
    if not (source or found or launch.cubin or launch.given):
        raise CannotCapture("neither its PTX nor its machine code was found")
    _clear(target.folder)  # not before it is sure that there is a job: an earlier one would lose its files
    path = _own_source(target, launch, found, source)
    kernel = signature.short_name(launch.kernel)
    origin = f"{' '.join(process.command)[:200]} on {process.device} ({process.architecture})"
    if not process.is_virtual:
        origin += f", CUDA {process.driver}"
    parts = job_text.JobParts(
        launch=launch,
        kernel=kernel if source else launch.kernel,
        origin=origin,
        source=os.path.relpath(path, target.job.parent),
        folder=os.path.relpath(target.folder, target.job.parent),
        layout=layout,
        arguments=arguments,
        symbols={symbol: signature.short_name(symbol) for symbol in symbols} if source else {},
        remarks=remarks,
        on_gpu_only=on_gpu,
        is_virtual=process.is_virtual,
    )
    _write_contents(target, launch, layout)
    storage.write_atomic(target.job, ("\n".join(job_text.lines(parts)) + "\n").encode())
    verdict = _verdict(result, layout, on_gpu, launch, is_virtual=process.is_virtual)
    return WrittenJob(target.job, launch, kernel, verdict)


def _parameters(launch: CapturedLaunch, ptx: FoundPtx) -> tuple[Parameter, ...]:
    """Return the parameters of a kernel as its PTX declares them; nothing where it has no such kernel."""
    entry = ptx_declarations.parse(ptx.text).entries.get(launch.kernel)
    if entry is None:
        return ()
    if len(entry.parameters) != len(launch.parameters):
        counts = f"{len(launch.parameters)}, and its PTX has {len(entry.parameters)}"
        raise CannotCapture(
            f"the number of its parameters is not certain: the driver (CUDA 12.4 or newer) reports {counts}"
        )
    return entry.parameters


def _refuse_what_was_not_kept(launch: CapturedLaunch) -> None:
    if launch.given_up:
        raise CannotCapture(
            "it did not end within the time limit (--launch-timeout): it may wait for a later launch or for the host"
        )
    for region in launch.regions:
        if region.before is None and not region.symbol:
            raise CannotCapture(f"memory at 0x{region.start:x} could not be read before the launch")
    has_lost = any(region.before and not region.after for region in launch.regions)
    if launch.finished and not launch.error and has_lost:
        raise CannotCapture("its result could not be kept: memory could not be read, or the disk is full")
    if not launch.parameters and not launch.regions and launch.error:
        raise CannotCapture(f"it was launched after {launch.error}")


def _refuse_objects(code: str) -> None:
    """Refuse what the parameters name by handles or encoded bytes."""
    texture = _TEXTURES.search(code)
    if texture:
        raise CannotCapture(f"it uses texture or surface objects ({texture[1]}), which captured jobs cannot describe")
    if _MAPS.search(code):
        raise CannotCapture("it uses tensor maps, which captured jobs cannot describe")


def _refuse_what_was_cut(launch: CapturedLaunch, result: Replay) -> None:
    """Refuse a launch that needs more of an allocation than was kept."""
    is_cut = any(not region.is_whole and not region.symbol for region in launch.regions)
    if is_cut and result.is_fault and not launch.error:
        need = sum(region.size for region in launch.regions)
        raise CannotCapture(
            f"it needs more of its {units.size_text(need)} of memory than --max-bytes allows ({result.problem})"
        )


def _refuse_addresses(launch: CapturedLaunch, layout: Layout) -> None:
    """Refuse a buffer that holds pointers: they would point nowhere."""
    for buffer in layout.buffers:
        region = launch.regions[buffer.region]
        if not region.holds or not buffer.is_filled:
            continue
        words = buffers.part(region, buffer.start, buffer.size - buffer.size % 8).view("<u8")
        for word in words.tolist():
            if word == region.holds or any(other.base <= word < other.base + other.size for other in launch.regions):
                raise CannotCapture(
                    f"{buffer.name} holds addresses of device memory (0x{word:x}), which change in a replay"
                )


def _with_cluster(found: FoundPtx | None, launch: CapturedLaunch) -> FoundPtx | None:
    """Return the PTX with the cluster that the launch asked for as the kernel's own."""
    if launch.cluster == (1, 1, 1):
        return found
    if found is None:
        raise CannotCapture("it was launched in clusters, which a job cannot say for machine code")
    with contextlib.suppress(UsageError):  # it has clusters of its own
        return replace(found, text=ptx_declarations.with_cluster(found.text, launch.kernel, launch.cluster))
    return found


def _types(launch: CapturedLaunch, found: FoundPtx | None, source: Path | None) -> tuple[ParameterType, ...]:
    types = signature.of_name(launch.kernel)
    if len(types) != len(launch.parameters):  # a compiler that takes an argument apart, as Numba does with tuples
        types = ()
    if not types and found is not None and found.intermediate is not None:
        types = signature.of_triton(found.intermediate, launch.kernel)
    declared = _declaration(launch, source) if source else None
    if declared is None:
        return types
    return signature.of_declaration(declared, types)


def _declaration(launch: CapturedLaunch, source: Path) -> Declaration | None:
    text = storage.read_bytes(source).decode("utf-8", "replace")
    name = cxx_declarations.strip_template_arguments(signature.short_name(launch.kernel))
    for declaration in cxx_declarations.declarations(text):
        if declaration.name.rpartition("::")[2] == name.rpartition("::")[2]:
            return declaration
    return None


def declares(launch: CapturedLaunch, source: Path) -> bool:
    """Whether a source declares the kernel of a launch."""
    return _declaration(launch, source) is not None


def _laid_out(
    launch: CapturedLaunch,
    types: Sequence[ParameterType],
    found: FoundPtx | None,
    symbols: Sequence[str],
    scratch: Path,
    seconds: float,
) -> tuple[Layout, Replay]:
    """Return the buffers of a launch, and what its replay on the CPU device gave."""
    if found is None:
        return buffers.lay_out(launch, types, None, symbols), Replay("there is no PTX of the kernel")
    path = scratch / "kernel.ptx"
    path.write_text(found.text, encoding="utf-8")
    noted = replays.run(_request(launch, path, types, notes=True), seconds)
    if noted.problem:
        layout = buffers.lay_out(launch, types, None, symbols)
        if noted.is_fault:
            return layout, noted
        return layout, replays.run(_cut_request(launch, path, layout), seconds)
    layout = buffers.lay_out(launch, types, noted, symbols)
    if layout.is_split:
        result = replays.run(_cut_request(launch, path, layout), seconds)
        if result.is_fault:  # a pointer reaches into the next one's bytes
            layout = buffers.lay_out(launch, types, noted, symbols, split=False)
        elif not result.problem:
            return layout, result
    return layout, noted


def _pointer_name(launch: CapturedLaunch, at: int, types: Sequence[ParameterType]) -> str:
    """Return the parameter that a pointer is in, as messages call it."""
    for position, parameter in enumerate(launch.parameters):
        if 0 <= at - parameter.offset < len(parameter.data):
            name = types[position].name if position < len(types) else ""
            return name or f"arg{position}"
    raise AssertionError("a pointer is in a parameter")


def _request(launch: CapturedLaunch, ptx: Path, types: Sequence[ParameterType], *, notes: bool) -> replays.Request:
    names = {pointer.region: _pointer_name(launch, pointer.at, types) for pointer in reversed(launch.pointers)}
    memories = []
    for number, region in enumerate(launch.regions):
        memory = ReplayMemory(
            name=names.get(number, region.symbol),
            before=str(region.before),
            start=0,
            size=region.length,
            symbol=region.symbol,
            after=str(region.after or ""),
        )
        memories.append(memory)
    patches = []
    for pointer in launch.pointers:
        offset = pointer.address - launch.regions[pointer.region].start
        patches.append(Patch(pointer.at, pointer.region, offset))
    return replays.Request(
        ptx=str(ptx),
        kernel=launch.kernel,
        grid=launch.grid,
        block=launch.block,
        shared=launch.shared,
        parameters=tuple(parameter.data.hex() for parameter in launch.parameters),
        offsets=tuple(parameter.offset for parameter in launch.parameters),
        memories=tuple(memories),
        patches=tuple(patches),
        notes=notes,
    )


def _cut_request(launch: CapturedLaunch, ptx: Path, layout: Layout) -> replays.Request:
    memories = []
    for buffer in layout.buffers:
        region = launch.regions[buffer.region]
        memory = ReplayMemory(
            name=buffer.name,
            before=str(region.before) if buffer.is_filled else "",
            start=buffer.start,
            size=buffer.size,
            symbol=buffer.symbol,
            after=str(region.after or ""),
        )
        memories.append(memory)
    return replace(_request(launch, ptx, (), notes=False), memories=tuple(memories), patches=layout.pointers)


def _remarks(
    launch: CapturedLaunch, layout: Layout, found: FoundPtx | None, result: Replay, *, with_origin: bool
) -> Iterator[str]:
    if launch.error:
        yield f"the launch ended with {launch.error}: there is no result to compare with"
    elif not launch.finished:
        yield "the launch did not return: there is no result to compare with"
    if found is not None and with_origin:
        yield f"PTX from {found.origin}"
    for number, region in enumerate(launch.regions):
        names = [buffer.name for buffer in layout.buffers if buffer.region == number]
        if names and not region.is_whole:
            kept = f"only {region.length} of {region.size} bytes of the allocation were kept (--max-bytes)"
            yield f"{', '.join(names)}: {kept}"
    is_pooled = any(
        buffer.size >= 1 << 20 and buffer.size == launch.regions[buffer.region].length and not buffer.symbol
        for buffer in layout.buffers
    )
    if is_pooled and (found is None or result.problem):
        yield "what the kernel touches could not be determined: allocations are kept whole"


def _verdict(result: Replay, layout: Layout, on_gpu: str, launch: CapturedLaunch, *, is_virtual: bool) -> str:
    if on_gpu:
        return f"on a GPU only: {on_gpu}"
    if result.is_fault:
        return f"the CPU device reports: {result.problem}"
    if result.problem:
        return f"not replayed on the CPU device: {result.problem}"
    if launch.error or not launch.finished:
        return "runs on the CPU device without a fault"
    if result.is_equal:
        return "a replay gives the same bits" if is_virtual else "the CPU device gives the GPU's bits"
    for number, count in enumerate(result.differing):
        if count > 0:
            memory = "the memory"
            if number < len(layout.buffers) and layout.is_split:
                memory = layout.buffers[number].name
            first = result.first[number]
            difference = f"{count} bytes of {memory}, the first at {first}"
            if is_virtual:
                return f"a replay differs: {difference}; does the kernel depend on the order of its threads?"
            return f"the CPU device differs from the GPU: {difference}"
    return "runs on the CPU device; its result on the GPU is not known"


def _own_source(target: Target, launch: CapturedLaunch, found: FoundPtx | None, source: Path | None) -> Path:
    """Write the captured source, unless the user names one; return its path."""
    if source is not None:
        return source.absolute()
    if found is not None:
        path = target.folder / "kernel.ptx"
        storage.write_atomic(path, found.text.encode())
        return path
    code = launch.cubin or launch.given
    assert code is not None, "a launch without any is refused"
    path = target.folder / "kernel.cubin"
    storage.write_atomic(path, storage.read_bytes(code))
    return path


def _clear(folder: Path) -> None:
    """Make an empty folder for a job's files."""
    with storage.disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.name.endswith((".bin", ".ptx", ".cubin")):
                path.unlink()


def _write_contents(target: Target, launch: CapturedLaunch, layout: Layout) -> None:
    outputs = job_text.dumped(layout)
    for buffer in layout.buffers:
        region = launch.regions[buffer.region]
        if buffer.is_filled:
            data = buffers.part(region, buffer.start, buffer.size)
            storage.write_atomic(target.folder / f"{buffer.name}.bin", data.tobytes(), durable=False)
        if buffer in outputs and region.after is not None:
            data = buffers.part(region, buffer.start, buffer.size, after=True)
            storage.write_atomic(target.folder / f"{buffer.name}.after.bin", data.tobytes(), durable=False)


# --- arguments of a captured launch as a job writes them --------------------------------------------------------------


_INTEGERS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


def write_arguments(
    launch: CapturedLaunch, layout: Layout, types: Sequence[ParameterType], compiled: Sequence[Parameter]
) -> tuple[list[str], list[str]]:
    """Write the arguments of a launch.

    Args:
        launch: with its parameters.
        layout: its buffers.
        types: of its parameters, as far as they are known.
        compiled: its parameters as PTX declares them; empty where there is no PTX.

    Returns:
        the arguments, and remarks about those that a job cannot give as they were.
    """
    texts = []
    remarks = []
    for position, parameter in enumerate(launch.parameters):
        type_ = types[position] if position < len(types) else ParameterType()
        kind = compiled[position].kind if position < len(compiled) else ""
        end = parameter.offset + len(parameter.data)
        inside = [pointer for pointer in layout.pointers if parameter.offset <= pointer.at < end]
        if inside and len(parameter.data) == 8:
            texts.append(_pointer(layout, inside[0]))
        elif inside or kind == "struct" or len(parameter.data) not in _INTEGERS:
            texts.append(_struct(layout, parameter, inside))
        elif kind == "pointer" or (type_.is_pointer and len(parameter.data) == 8):
            texts.append("null")
            if any(parameter.data):
                address = int.from_bytes(parameter.data, "little")
                remarks.append(f"argument {position} was 0x{address:x}, which lies in no allocation; it is null here")
        else:
            texts.append(_scalar(parameter.data, type_.dtype, kind))
    return texts, remarks


def _pointer(layout: Layout, placed: Patch) -> str:
    name = layout.buffers[placed.memory].name
    if not placed.offset:
        return name
    return f"{{pointer: {name}, offset: {placed.offset}}}"


def _struct(layout: Layout, parameter: RawParameter, inside: Sequence[Patch]) -> str:
    """Write a struct: its pointers, and all else as words of four, two or one bytes, as its size allows."""
    pointers = {pointer.at - parameter.offset: pointer for pointer in inside}
    size = len(parameter.data)
    width = math.gcd(size, 4)
    members = []
    offset = 0
    while offset < size:
        if offset in pointers:
            members.append(_pointer(layout, pointers[offset]))
            offset += 8
            continue
        word = int.from_bytes(parameter.data[offset : offset + width], "little")
        members.append(f"{{{_INTEGERS[width]}: {word}}}")
        offset += width
    return f"{{struct: [{', '.join(members)}]}}"


def _scalar(data: bytes, dtype: str, kind: str) -> str:
    """Write a number of a dtype that has these bytes."""
    names = [f"int{8 * len(data)}", _INTEGERS[len(data)]]
    if dtype and (kind != "integer" or "int" in dtype or dtype == "bool"):
        names.insert(0, dtype)
    elif kind == "float":
        names.insert(0, {2: "float16", 4: "float32", 8: "float64"}[len(data)])
    for name in names:
        text = _text(data, name)
        if text is not None:
            return f"{{{name}: {text}}}"
    raise AssertionError("an unsigned integer has any bytes")


def _text(data: bytes, name: str) -> str | None:
    """Return the number's text, if it gives the same bytes back."""
    element = dtypes.parse(name)
    if len(element.parts) != 1 or element.size != len(data):
        return None
    scalar = element.parts[0].scalar
    if scalar.kind == "bool":
        return {b"\0": "false", b"\1": "true"}.get(data)
    if scalar.kind in ("int", "uint"):
        return str(int.from_bytes(data, "little", signed=scalar.kind == "int"))
    if scalar.kind == "bfloat":
        return None
    value = np.frombuffer(data, scalar.storage)[0]
    text = str(value)  # `inf` and `-inf`, too
    if math.isnan(value) or scalar.storage.type(text).tobytes() != data:
        return None
    return text
