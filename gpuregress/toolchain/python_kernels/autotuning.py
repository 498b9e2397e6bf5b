"""Configurations of `@triton.autotune`: what a kernel may be compiled with.

The list is Python code, so a process of its own imports the file and reads it. The result is cached by the texts of
the file and its local modules, and a host without Triton finds it in a cache from elsewhere.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuregress.foundation.errors import CompileError, MissingCompiler
from gpuregress.foundation.records import PythonKernel
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cache, compiler_messages
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.python_kernels import compiler, source_inputs, stand_ins

_FORM = "configurations 1"
TIMEOUT_SECONDS = 120.0
_ALWAYS = ("num_warps", "num_stages")
_DEFAULTS: Mapping[str, object] = {"num_ctas": 1, "maxnreg": None}
"""Settings of which a configuration without one of its own has this value; they are parameters only where set."""


class Configuration(Record):
    """One entry of the list.

    Attributes:
        function: that it belongs to.
        constants: parameter → the value that is compiled in.
        settings: `num_warps`, `num_stages`, and others that some entry of the list has.
    """

    function: str
    constants: Mapping[str, bool | int | float | str | None]
    settings: Mapping[str, int]

    @property
    def parameters(self) -> dict[str, bool | int | float | str]:
        """The values as parameters of a case; None is a text."""
        constants = {name: "None" if value is None else value for name, value in self.constants.items()}
        return {**constants, **self.settings}


def configurations(path: Path, function: str, arch: str) -> tuple[Configuration, ...]:
    """Return the configurations of a kernel in the order of its list.

    Args:
        path: the Python source, absolute.
        function: a kernel with `@triton.autotune`.
        arch: `sm_90`, for a list that asks for the GPU.

    Raises:
        CompileError: the file cannot be imported, or its list has what no parameter can hold.
        MissingCompiler: Triton is not installed, and the cache does not have the list.
        OSError: the file cannot be read.
    """
    files = source_inputs.kernel_inputs(path, function, with_tuning=True)
    names = [file.name for file in files.files]
    parts: tuple[str | bytes, ...] = (_FORM, function, arch, files.structure, *names, *files.contents)
    packages = source_inputs.packages(files)
    shared = cache.digest(parts)  # for a host without Triton, or without the packages
    own = cache.digest((*parts, compiler.version("triton"), json.dumps(packages)))  # a list may ask for the version
    known = None
    if not files.unknown:
        known = cache.load(own) or _carried(shared, files)
    if known is None:
        known = {"entries": _read(path, function, arch), "packages": packages}
        if not files.unknown:
            for key in {own, shared}:
                cache.store(key, known, {})
    return _configurations(function, known["entries"])


def _carried(key: str, files: SourceInputs) -> dict[str, Any] | None:
    """The list that another host has read, where this one cannot."""
    known = cache.load(key)
    if known is None or not compiler.version("triton"):
        return known
    return known if source_inputs.lacks(files, known.get("packages", {})) else None


def _configurations(function: str, entries: list[dict[str, Any]]) -> tuple[Configuration, ...]:
    names = list(_ALWAYS)
    for name, usual in _DEFAULTS.items():
        if any(entry["settings"].get(name, usual) != usual for entry in entries):
            names.append(name)
    read: list[Configuration] = []
    for entry in entries:
        settings = {name: entry["settings"][name] for name in names if entry["settings"].get(name) is not None}
        read.append(Configuration(function, entry["constants"], settings))
    return tuple(read)


def _read(path: Path, function: str, arch: str) -> list[dict[str, Any]]:
    """Read the list in a process of its own."""
    shown = compiler_messages.shown(path)
    if not compiler.version("triton"):
        raise MissingCompiler(compiler.missing_text(shown, "triton"))
    reader = f"{__package__}.configuration_reader"
    environment = {name: text for name, text in os.environ.items() if not name.startswith(compiler.STEERING)}
    with tempfile.TemporaryDirectory(prefix="gpuregress-") as folder:
        result = Path(folder) / "entries.json"
        command = [sys.executable, "-P", "-m", reader, str(path), function, arch, str(result)]
        try:
            ended = subprocess.run(command, check=False, capture_output=True, env=environment, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise CompileError(f"{shown}: its import took more than {TIMEOUT_SECONDS:g} s") from None
        if not result.exists():
            reason = f"{shown}: its import ended with {ended.returncode}"
            lines = ended.stderr.decode(errors="replace").strip().splitlines()
            raise CompileError(f"{reason}: {lines[-1]}" if lines else reason)
        document = json.loads(result.read_text(encoding="utf-8"))
    if "error" in document:
        raise CompileError(str(document["error"]).replace(str(path), shown))
    entries: list[dict[str, Any]] = document["entries"]
    return entries


# --- values of `@triton.heuristics`: functions of a launch's arguments, called when a kernel is compiled --------------


class _Tensor(Record):
    """A buffer as a heuristic sees it: its shape, without gaps, and an aligned address; no elements."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        return math.prod(self.shape)

    def size(self, axis: int | None = None) -> int | tuple[int, ...]:
        return self.shape if axis is None else self.shape[axis]

    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        steps = tuple(math.prod(self.shape[at + 1 :]) for at in range(len(self.shape)))
        return steps if axis is None else steps[axis]

    def is_contiguous(self) -> bool:
        return True

    def data_ptr(self) -> int:
        return 1 << 20


def values(given: Any, kernel: PythonKernel, constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the heuristics above a kernel, but for those that the job gives.

    Args:
        given: the decorated function.
        kernel: what is compiled, with the arguments of its launches.
        constants: the job's, as Triton takes them.

    Raises:
        CompileError: a heuristic failed.
    """
    arguments: dict[str, Any] = {
        name: _Tensor(tuple(value)) if isinstance(value, tuple | list) else value
        for name, value in kernel.arguments.items()
    }
    found: dict[str, Any] = {}
    for layer in _layers(given):
        for name, compute in layer.values.items():
            if name in constants:
                continue
            seen = {**arguments, **constants, **kernel.settings, **found}
            try:
                found[name] = compute(seen)
            except stand_ins.MissingModuleUsed as wrong:
                stand_ins.forget()
                text = f"{kernel.function}: @triton.heuristics of {name!r}: {wrong}"
                raise CompileError(f"{text}, or give its value in constants") from wrong
            except Exception as wrong:
                reason = f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
                text = f"{kernel.function}: @triton.heuristics of {name!r} failed with {reason}"
                raise CompileError(f"{text}; its value can be given in constants") from wrong
    return found


def _layers(given: Any) -> list[Any]:
    """The decorators of a kernel that have heuristics, the outermost first."""
    layers = []
    while given is not None and not hasattr(given, "params"):
        if isinstance(getattr(given, "values", None), Mapping):
            layers.append(given)
        given = getattr(given, "fn", None)
    return layers
