"""Conversion of the arguments of `tune_kernel` to a job with a case for every configuration."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.api import arrays, kernel_source
from gpuregress.api.jobs import Job, load_job
from gpuregress.foundation import storage
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.wording import suggestion
from gpuregress.lab.kernel_tuner import search_space
from gpuregress.lab.kernel_tuner.search_space import SearchSpace, ThreadGrid
from gpuregress.store import project
from gpuregress.toolchain import cxx_declarations

_ALLCLOSE_RTOL = 1e-5
"""What numpy.allclose, which Kernel Tuner compares with, allows besides `atol`."""
_OF_MEASUREMENTS = (
    *("verbose", "device", "platform", "compiler", "log", "iterations", "quiet", "strategy", "strategy_options"),
    *("cache", "metrics", "simulation_mode", "parallel", "observers", "objective", "objective_higher_is_better"),
    *("objectives", "seed"),
)
"""Arguments of `tune_kernel` that change no result."""
_REFUSED = ("lang", "texmem_args")


def from_kernel_tuner(
    kernel_name: str,
    kernel_source: str | os.PathLike[str] | Sequence[str],
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Iterable[Any]],
    grid_div_x: Any = None,
    grid_div_y: Any = None,
    grid_div_z: Any = None,
    restrictions: Any = None,
    answer: Sequence[Any] | None = None,
    atol: float = 1e-6,
    verify: str | Callable[..., Any] | None = None,
    *,
    block_size_names: Sequence[str] | None = None,
    smem_args: Mapping[str, Any] | None = None,
    cmem_args: Mapping[str, Any] | None = None,
    compiler_options: Sequence[str] | None = None,
    defines: Mapping[str, Any] | None = None,
    agree: Sequence[str] | None = None,
    path: str | os.PathLike[str] | None = None,
    **others: Any,
) -> Job:
    """Write a job that checks every configuration which `tune_kernel` would try with these arguments.

    Arrays are written beside the job as `.npy`; so is a source that is given as text. A later call for the same kernel
    replaces these files; no other file is ever overwritten.

    Args:
        kernel_name: as for `tune_kernel`.
        kernel_source: a file, the text, or several files, of which the first has the kernel.
        problem_size: as for `tune_kernel`: numbers, expressions or a function of the configuration.
        arguments: numpy arrays and numbers, or arrays of another library.
        tune_params: parameter → its values.
        grid_div_x: as for `tune_kernel`: numbers, expressions, functions.
        grid_div_y: likewise.
        grid_div_z: likewise.
        restrictions: expressions, functions of the configuration, or pairs of a function and its parameters' names.
        answer: the expected contents of arguments, None for those that are not compared.
        atol: as for `tune_kernel`; a relative error of 1e-5 is allowed besides, as `numpy.allclose` does.
        verify: `file.py:function` as a job has it, relative to the job; a function of Python cannot be written there.
        block_size_names: parameters that are the block's extents.
        smem_args: `{"size": …}`: dynamic shared memory.
        cmem_args: `__constant__` variable → its contents.
        compiler_options: for NVRTC.
        defines: macro → its value, in place of the parameters.
        agree: parameters on which the results must not depend; all where there is no answer, none where there is one.
        path: of the job; `configs/KERNEL.yaml` of the project around the current folder where not given.
        others: arguments of `tune_kernel` about its measurements, which mean nothing here.

    Returns:
        The job, loaded.

    Raises:
        UsageError: an argument is unknown or cannot be written as a job, or a file is there that is another's.
        JobErrors: the job is wrong.
    """
    _refuse(others)
    if not isinstance(kernel_name, str):
        raise UsageError(f"kernel_name is {kernel_name!r}: expected text")
    files = JobFiles(_target(kernel_name, path), kernel_name)
    space = SearchSpace(tune_params, restrictions)
    source, text = _source(kernel_source, files)
    threads = ThreadGrid(space, problem_size, (grid_div_x, grid_div_y, grid_div_z), block_size_names)
    given = _arguments(kernel_name, arguments, text, files)
    parts = _expected(given, answer, atol, _verify(verify, answer), files)
    launch: dict[str, Any] = {
        "kernel": kernel_name,
        "grid": _trimmed(threads.grid),
        "block": _trimmed(threads.block),
        "args": given.launched,
    }
    if smem_args:
        launch["shared"] = _shared_memory(smem_args, space)
    macros = _macros(defines, [*space.parameters, {"kernel_tuner": 1, **threads.macros(space.parameters, text)}])
    job: dict[str, Any] = {
        "source": source,
        "parameters": {name: [_parameter(value) for value in values] for name, values in space.parameters.items()},
        "where": space.where,
        "compile": {"defines": macros, **_options(compiler_options)},
        "infeasible": "skip",
        "buffers": {**given.buffers, **_constants(cmem_args or {}, given.buffers, files)},
        "launches": [launch],
        **parts,
    }
    if not space.where:
        del job["where"]
    dependent: list[str] = []
    if agree is not None:
        dependent = list(agree)
    elif "reference" not in job:
        dependent = [name for name in space.parameters if len({valid[name] for valid in space.valid}) > 1]
    if dependent:
        job["agree"] = dependent
    with files.written(job):
        return load_job(files.target)


@dataclass(slots=True)
class _Arguments:
    """The arguments of the kernel.

    Attributes:
        launched: as a launch of a job has them.
        buffers: name → its section of a job.
        names: of the buffer at each position; "" for a number.
        outputs: buffers that the kernel may write.
    """

    launched: list[Any] = field(default_factory=list)
    buffers: dict[str, dict[str, Any]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def _refuse(others: Mapping[str, Any]) -> None:
    """Refuse the arguments that a job cannot have, and those that are none of `tune_kernel`."""
    taken = [name for name in inspect.signature(from_kernel_tuner).parameters if name != "others"]
    known = [*taken, *_REFUSED, *_OF_MEASUREMENTS]
    for name in others:
        if name not in known:
            raise UsageError(f"unknown argument {name!r}{suggestion(name, known)}")
    if others.get("texmem_args"):
        raise UsageError("texmem_args: write a `texture:` for the buffer into the job (docs/how-to/textures.md)")
    language = others.get("lang")
    if language is not None and str(language).upper() not in ("CUDA", "CUPY", "NVCUDA"):
        raise UsageError(f"lang is {language}: a job is for CUDA")


def _target(kernel_name: str, path: str | os.PathLike[str] | None) -> Path:
    if path is not None:
        return Path(path).absolute()
    return project.find(Path.cwd()).configs / f"{_plain(kernel_name)}.yaml"


def _plain(kernel_name: str) -> str:
    """Return a kernel's name as that of a file."""
    return re.sub(r"\W+", "_", cxx_declarations.strip_template_arguments(kernel_name))


def _source(given: Any, files: JobFiles) -> tuple[str, str]:
    """Return the path of the source from the job on, and its text."""
    if callable(given):
        raise UsageError("kernel_source is a function: write what it returns for one configuration, with macros")
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not listed or not isinstance(listed[0], str | os.PathLike):
        raise UsageError(f"kernel_source is {given!r}: expected a path or the text of a kernel")
    first = listed[0]
    if isinstance(first, str) and kernel_source.is_text(first):
        return files.add(f"{_plain(files.kernel)}.cu", first.encode()), first
    path = Path(first).absolute()
    if not path.is_file():
        raise UsageError(f"kernel_source: there is no file {first}")
    return os.path.relpath(path, files.target.parent), kernel_source.text_of(path)


def _arguments(kernel_name: str, arguments: Sequence[Any], text: str, files: JobFiles) -> _Arguments:
    declared = cxx_declarations.find(cxx_declarations.declarations(text), kernel_name, len(arguments))
    converted = _Arguments()
    for position, value in enumerate(arguments):
        name = f"arg{position}"
        is_const = False
        if declared is not None:
            name = declared.parameters[position].name or name
            is_const = declared.parameters[position].const
        if arrays.is_array(value) and np.ndim(value) > 0:
            converted.buffers[name] = _buffer(name, value, files)
            converted.launched.append(name)
            converted.names.append(name)
            if not is_const:
                converted.outputs.append(name)
        else:
            converted.launched.append(_scalar(name, value))
            converted.names.append("")
    return converted


def _buffer(name: str, value: Any, files: JobFiles) -> dict[str, Any]:
    try:
        array, element = arrays.contents(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"arguments: {name}: {error}") from None
    saved = files.add(f"{name}.npy", array)
    return {"dtype": element.name, "shape": list(array.shape), "fill": {"file": saved}}


def _constants(given: Mapping[str, Any], buffers: Mapping[str, Any], files: JobFiles) -> dict[str, dict[str, Any]]:
    """Make buffers of `__constant__` variables; one that is called as a parameter gets another name."""
    constants = {}
    for symbol, value in given.items():
        name = f"{symbol}_constant" if symbol in buffers else symbol
        constants[name] = {**_buffer(name, value, files), "symbol": symbol}
    return constants


def _scalar(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, np.generic | np.ndarray):
        raise UsageError(f"arguments: {name} is {value!r}: pass a numpy array, or a number as numpy.int32(…)")
    return {np.asarray(value).dtype.name: np.asarray(value).item()}


def _parameter(value: Any) -> Any:
    """Write a value of a parameter; text that looks like a number stays text."""
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_]\w*", value):
        return {"text": value}
    return value


def _shared_memory(given: Mapping[str, Any], space: SearchSpace) -> int | str:
    if "size" not in given:
        raise UsageError(f"smem_args has {', '.join(map(repr, given))}, and no 'size'")
    return space.expression("smem_args", lambda names: search_space.whole("smem_args", given["size"], names))


def _macros(defines: Mapping[str, Any] | None, usual: list[Any]) -> Any:
    if defines is None:
        return usual
    if any(callable(value) for value in defines.values()):
        raise UsageError("defines: a function of the configuration cannot be written into a job")
    return {name: value if isinstance(value, int | float) else {"text": str(value)} for name, value in defines.items()}


def _options(given: Sequence[str] | None) -> dict[str, list[str]]:
    if isinstance(given, str):
        raise UsageError(f"compiler_options is {given!r}: pass a list of options")
    if not given:
        return {}
    return {"options": list(given)}


def _verify(given: str | Callable[..., Any] | None, answer: Sequence[Any] | None) -> str:
    if given is None or isinstance(given, str):
        if given and answer is None:
            raise UsageError("verify compares with the answer, and there is none: pass answer=")
        return given or ""
    name = getattr(given, "__name__", "function")
    raise UsageError(
        f"verify: {name} is a function of Kernel Tuner's form: write one of a job's form (expected, actual → bool) "
        f'into a file, and pass verify="file.py:{name}" (docs/how-to/from-kernel-tuner.md)'
    )


def _expected(
    given: _Arguments, answer: Sequence[Any] | None, atol: float, verify: str, files: JobFiles
) -> dict[str, Any]:
    """Make the reference, the rules and the dumped buffers."""
    wanted = answer if answer is not None else [None] * len(given.names)
    if len(wanted) != len(given.names):
        raise UsageError(f"answer has {len(wanted)} entries; the kernel takes {len(given.names)} arguments")
    reference = {}
    for position, (name, value) in enumerate(zip(given.names, wanted, strict=True)):
        if value is not None:
            reference[name] = _answer(name, position, value, given, files, is_verified=bool(verify))
    compared = list(reference) or given.outputs
    rules = {}
    for name in compared:
        dtype = given.buffers[name]["dtype"]
        if "float" in dtype or "complex" in dtype:
            rules[name] = _rule(atol)
    parts: dict[str, Any] = {"dump": compared}
    if reference:
        parts["reference"] = reference
    if verify and reference:
        parts["verify"] = dict.fromkeys(reference, verify)
    if rules:
        parts["compare"] = rules
    return parts


def _answer(name: str, position: int, value: Any, given: _Arguments, files: JobFiles, *, is_verified: bool) -> str:
    """Return the file of the expected contents of an argument."""
    if not name:
        raise UsageError(f"answer: argument {position} is a number, which no kernel writes: pass None for it")
    shape = list(np.shape(value))
    if not is_verified and shape != given.buffers[name]["shape"]:
        raise UsageError(
            f"answer: {name} has the shape {given.buffers[name]['shape']} and its answer {shape}: pass "
            'verify="file.py:function", which compares the two'
        )
    buffer = _buffer(f"{name}.answer", value if shape else np.atleast_1d(value), files)
    return str(buffer["fill"]["file"])


def _rule(atol: Any) -> dict[str, float]:
    if isinstance(atol, bool) or not isinstance(atol, int | float | np.integer | np.floating):
        raise UsageError(f"atol is {atol!r}: expected a number")
    return {"rtol": _ALLCLOSE_RTOL, "atol": float(atol)}


def _trimmed(extents: Sequence[int | str]) -> list[int | str]:
    """Return the extents without those of 1 at the end."""
    trimmed = list(extents)
    while len(trimmed) > 1 and trimmed[-1] == 1:
        trimmed.pop()
    return trimmed


# --- files of a converted job, written together: the job itself, its arrays and its source ----------------------------


_MARK = "# Written by gpuregress.from_kernel_tuner for the kernel"
"""How the first line of a converted job begins; its kernel's name follows. A later call for it replaces the job."""
_FILES = "# Its files: "
"""How the second line begins; the files that a later call may replace follow."""


@dataclass(slots=True)
class JobFiles:
    """The files of one job.

    Attributes:
        target: the job.
        kernel: its kernel, with template arguments.
    """

    target: Path
    kernel: str
    _contents: dict[str, bytes | npt.NDArray[Any]] = field(default_factory=dict)

    def add(self, name: str, contents: bytes | npt.NDArray[Any]) -> str:
        """Add a file of the job's folder, and return its path from the job on.

        Args:
            name: of the file.
            contents: its bytes, or an array for a `.npy`.
        """
        relative = f"{self.target.stem}/{name}"
        self._contents[relative] = contents
        return relative

    @contextlib.contextmanager
    def written(self, job: dict[str, Any]) -> Iterator[None]:
        """Write everything, the job last, for a block that reads it; where the block fails, all is as it was before.

        Raises:
            UsageError: a file is there that an earlier call for this kernel did not write; nothing is written.
            StorageError: a file cannot be written.
        """
        mark = f"{_MARK} {self.kernel}\n"
        earlier = self._earlier(mark)
        with storage.scratch(self.target.parent) as aside:
            paths = [self.target, *(self.target.parent / relative for relative in self._contents)]
            was: dict[Path, Path] = {}
            for number, path in enumerate(paths):
                if path.exists():
                    was[path] = aside / str(number)
                    if not storage.link_file(path, was[path], read_only=False):
                        storage.copy_file(path, was[path])
            try:
                self._write(job, mark)
                yield
            except BaseException:
                for path in paths:
                    if path in was:
                        was[path].replace(path)
                    else:
                        path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # it holds files of the user or of an earlier call
                    (self.target.parent / self.target.stem).rmdir()
                raise
        for relative in earlier - set(self._contents):
            (self.target.parent / relative).unlink(missing_ok=True)

    def _write(self, job: dict[str, Any], mark: str) -> None:
        for relative, contents in self._contents.items():
            with storage.atomic(self.target.parent / relative) as file:
                if isinstance(contents, bytes):
                    file.write(contents)
                else:
                    np.save(file, contents)
        head = f"{mark}{_FILES}{', '.join(self._contents)}\n"
        storage.write_atomic(self.target, f"{head}{yaml_writer.write(job)}".encode())

    def _earlier(self, mark: str) -> set[str]:
        """The files of the earlier call that wrote the job; UsageError where one that is there is not its."""
        advice = f"not written by from_kernel_tuner for {self.kernel}: remove it, or name another job by path="
        if storage.is_foreign(self.target, mark):
            raise UsageError(f"{self.target} already exists, and was {advice}")
        lines: list[str] = []
        if self.target.exists():
            lines = storage.read_bytes(self.target).decode(errors="replace").splitlines()
        listed = ""
        if len(lines) > 1 and lines[1].startswith(_FILES):
            listed = lines[1].removeprefix(_FILES)
        # Only names of its own folder: the line may have been edited.
        earlier = {name for name in listed.split(", ") if re.fullmatch(rf"{re.escape(self.target.stem)}/[^/]+", name)}
        for relative in self._contents:
            path = self.target.parent / relative
            if path.exists() and relative not in earlier:
                raise UsageError(f"{path} already exists, and was {advice}")
        return earlier
