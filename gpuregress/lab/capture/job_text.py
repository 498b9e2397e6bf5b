"""Text of the job that replays a captured launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.document.yaml_writer import scalar
from gpuregress.gpu.records import Record
from gpuregress.lab.capture.buffers import JobBuffer, Layout
from gpuregress.lab.capture.records import CapturedLaunch

_MARK = "# Captured by gpuregress capture"
_VIRTUAL_MARK = "# Captured by gpuregress exec --capture"
"""How the first line of a captured job begins; a later capture may replace such a file."""
_REFERENCE = "the result on the GPU; without a rule every bit must be equal"
_VIRTUAL_REFERENCE = "the virtual GPU's own result, no evidence that it is right; every bit must be equal"


class JobParts(Record):
    """What the text of a job is made of.

    Attributes:
        launch: the captured one.
        kernel: its name in the source.
        origin: the program and the GPU, in words.
        source: the kernel's source, relative to the job.
        folder: the files of the contents, relative to the job.
        layout: its buffers.
        arguments: as the job writes them.
        symbols: mangled name of a variable → its name in the source.
        remarks: for the user, one line each.
        on_gpu_only: why the CPU device cannot run it, in words; "" where it can.
        is_virtual: whether the captured GPU was the virtual one.
    """

    launch: CapturedLaunch
    kernel: str
    origin: str
    source: str
    folder: str
    layout: Layout
    arguments: Sequence[str]
    symbols: dict[str, str]
    remarks: Sequence[str]
    on_gpu_only: str = ""
    is_virtual: bool = False


def lines(parts: JobParts) -> Iterator[str]:
    """The job, line by line."""
    launch, layout = parts.launch, parts.layout
    mark = _VIRTUAL_MARK if parts.is_virtual else _MARK
    yield f"{mark}: launch {launch.number} of {_one_line(parts.origin)}"
    for remark in parts.remarks:
        yield f"# {_one_line(remark)}"
    yield f"source: {scalar(parts.source)}"
    yield "buffers:" if layout.buffers else "buffers: {}"
    for buffer in layout.buffers:
        yield f"  {buffer.name}: {{{', '.join(_buffer(parts, buffer))}}}"
    yield "launches:"
    yield f"  - kernel: {scalar(parts.kernel)}"
    yield f"    grid: {_extents(launch.grid)}"
    yield f"    block: {_extents(launch.block)}"
    if launch.shared:
        yield f"    shared: {launch.shared}"
    yield from _arguments(parts.arguments)
    outputs = dumped(layout)
    if outputs:
        yield f"dump: [{', '.join(one.name for one in outputs)}]"
    if outputs and launch.finished and not launch.error:
        source = _VIRTUAL_REFERENCE if parts.is_virtual else _REFERENCE
        yield f"reference:                          # {source}"
        for one in outputs:
            yield f"  {one.name}: {{file: {scalar(f'{parts.folder}/{one.name}.after.bin')}}}"
    if any(one.is_filled and one not in outputs for one in layout.buffers):
        yield "inputs: unchanged"
    if parts.on_gpu_only:
        yield f"devices: [cuda]                     # {parts.on_gpu_only}"
    yield "tags: [captured]"


def is_kept(path: Path, *, is_virtual: bool) -> bool:
    """Whether a file is there that a capture must leave as it is.

    That is what no capture wrote. A capture on the virtual GPU also leaves a job whose reference is a GPU's result.
    """
    marks = (_VIRTUAL_MARK,) if is_virtual else (_MARK, _VIRTUAL_MARK)
    return all(storage.is_foreign(path, mark) for mark in marks)


def _one_line(text: str) -> str:
    """Text that a comment may hold: the words of an application's command may have several lines."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def dumped(layout: Layout) -> list[JobBuffer]:
    """The buffers that the job dumps: the outputs, or the first one, since a job without a dump could not fail."""
    return [one for one in layout.buffers if one.is_output] or list(layout.buffers[:1])


def _buffer(parts: JobParts, buffer: JobBuffer) -> Iterator[str]:
    yield f"dtype: {buffer.dtype}"
    yield f"shape: [{buffer.count}]"
    if buffer.is_filled:
        yield f"fill: {{file: {scalar(f'{parts.folder}/{buffer.name}.bin')}}}"
    if buffer.symbol:
        yield f"symbol: {scalar(parts.symbols.get(buffer.symbol, buffer.symbol))}"


def _extents(size: tuple[int, int, int]) -> str:
    kept = list(size)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return f"[{', '.join(map(str, kept))}]"


def _arguments(texts: Sequence[str]) -> Iterator[str]:
    line = f"    args: [{', '.join(texts)}]"
    if len(line) <= 120:
        yield line
        return
    yield "    args:"
    for text in texts:
        yield f"      - {text}"
