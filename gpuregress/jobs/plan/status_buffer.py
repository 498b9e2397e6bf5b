"""Status buffer of a kernel that is a variable of the source and not among the job's buffers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gpuregress.foundation.document.problems import Problems, suggestion
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.buffer import BufferSpec
from gpuregress.toolchain import cxx_declarations, include_scanner
from gpuregress.toolchain.cxx_types import dtype_of_type

_ARRAY = re.compile(r"\s*\[\s*([0-9]+)\s*\]")


def with_status(file: JobFile, sources: Sequence[Path], problems: Problems) -> JobFile:
    """Add the status variable to the buffers of a job.

    Args:
        file: the job; `status: d_status` may name a `__device__` variable of its sources.
        sources: the sources; none where one is not there.
        problems: collects the errors.
    """
    job, name = file.job, file.job.status_buffer
    if name is None or name in job.buffers or file.is_broken("buffers", "source") or not sources:
        return file
    buffer = next((found for source in sources if (found := _variable(source, name))), None)
    if buffer is None:
        known = [*job.buffers, *(one for source in sources for one in _variables(source))]
        message = f"unknown buffer or __device__ variable {name!r}{suggestion(name, known)}"
        problems.add(("status", "buffer") if isinstance(file.document.data["status"], dict) else ("status",), message)
        return file
    buffers = {**job.buffers, name: buffer}
    return replace(file, model=msgspec.structs.replace(job, buffers=buffers))


def _text(source: Path) -> str:
    if source.suffix not in include_scanner.SUFFIXES:
        return ""
    try:
        return source.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _variables(source: Path) -> list[str]:
    return cxx_declarations.variable_names(_text(source))


def _variable(source: Path, name: str) -> BufferSpec | None:
    """Declare a variable as a buffer: `__device__ int d_status[4];` is an int32 buffer of 4, filled with zeros."""
    plain = include_scanner.without_comments(_text(source))
    declaration = re.search(
        rf"\b__(?:device|managed)__\s+([A-Za-z_][\w \t]*?)\s+{re.escape(name)}\b((?:\s*\[\s*[0-9]+\s*\])*)\s*[;={{]",
        plain,
    )
    if declaration is None:
        return None
    words = [word for word in declaration[1].split() if word not in ("volatile", "static", "__managed__")]
    dtype = dtype_of_type(" ".join(words))
    if dtype is None:
        return None
    shape = [int(extent) for extent in _ARRAY.findall(declaration[2])] or [1]
    return BufferSpec.of({"dtype": dtype, "shape": shape, "fill": "zeros", "symbol": name})
