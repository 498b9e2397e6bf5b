"""Twins: the case's launches on another device, or its calls on the host.

A difference from the host is explained by further trials: the function is compiled again without one possible cause,
and the elements that then agree are explained by it. The library is named where the function calls one of its functions
and no trial explains the rest.
"""

from __future__ import annotations

import resource
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import prerequisites
from gpuregress.execution.runner.case_runs import CaseRuns, PlannedRun, RunAxis
from gpuregress.execution.runner.dumps import BufferReader
from gpuregress.execution.runner.launcher import Launcher, thread_count
from gpuregress.execution.runner.poison import POISON, poison
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import GpuregressError, HarnessError, KernelFault
from gpuregress.foundation.interrupts import FROM_OUTSIDE
from gpuregress.foundation.records import Case, Dump, Finding, FurtherRun, Program, RunFacts
from gpuregress.gpu.base import Device
from gpuregress.gpu.records import Record, replace
from gpuregress.store.dumps import reader
from gpuregress.toolchain.functions import host
from gpuregress.toolchain.functions.host import HostCompiler
from gpuregress.toolchain.programs import compile as compile_source

Array = npt.NDArray[np.generic]
PLAIN = ("-ffp-contract=off",)
"""Each operation rounds once, as C++ says."""


class HostFailed(Exception):
    """The host's program crashed or did not end in time; the message says which."""


class HostTwin(Record):
    """The host's version of a case's function.

    Attributes:
        case: with a function that has a host text.
        compiler: of the host.
        scratch: a folder for programs and buffers.
        filled: filled buffer → its contents.
    """

    case: Case
    compiler: HostCompiler
    scratch: Path
    filled: Mapping[str, Array] = field(default_factory=dict)

    def results(self, flags: Sequence[str] = PLAIN) -> dict[str, Array]:
        """Compile and run the function, and return each dumped buffer.

        Args:
            flags: of the host's compiler.

        Raises:
            HostFailed: it crashed, or did not end within the case's limit.
            CompileError: the compiler refuses it.
            HarnessError: the compiler or the program cannot be run.
        """
        call = self.case.function
        assert call is not None
        program = host.build(self.case.source, call.host, self.compiler, flags, self.scratch)
        files: dict[str, Path] = {}
        words = [str(program), str(call.calls), self._file(call.result, files) if call.result else "-"]
        for one in call.arguments:
            is_buffer = one.given == "buffer"
            words.append(self._file(one.name, files) if is_buffer else repr(self.case.parameters[one.name]))
        self._run(words)
        return {name: self._read(name, files) for name in self.case.dump}

    def _file(self, name: str, files: dict[str, Path]) -> str:
        """Write a buffer's contents before the calls to a file, and return its path."""
        path = files[name] = self.scratch / f"buffer-{len(files)}"
        filled = self.filled.get(name)
        data = poison(self.case.buffers[name].size, POISON) if filled is None else np.ascontiguousarray(filled)
        path.write_bytes(data.tobytes())
        return str(path)

    def _read(self, name: str, files: Mapping[str, Path]) -> Array:
        buffer = self.case.buffers[name]
        if name not in files:  # the function does not take it
            filled = self.filled.get(name)
            data = poison(buffer.size, POISON) if filled is None else np.ascontiguousarray(filled)
        else:
            data = np.fromfile(files[name], np.uint8)
        return data.reshape(-1).view(dtypes.parse(buffer.dtype).storage).reshape(buffer.shape)

    def _run(self, words: Sequence[str]) -> None:
        limit = self.case.limits.timeout
        try:
            ran = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=limit,
                check=False,
                cwd=self.scratch,
                preexec_fn=_without_core,
            )
        except subprocess.TimeoutExpired as error:
            raise HostFailed(f"did not end within its limit of {limit:g} s") from error
        except OSError as error:
            raise HarnessError(f"the host's program cannot be run: {error.strerror}") from error
        if -ran.returncode in FROM_OUTSIDE:
            name = signal.Signals(-ran.returncode).name
            raise HarnessError(f"the host's program died of {name}: {FROM_OUTSIDE[-ran.returncode]}")
        if ran.returncode < 0:
            raise HostFailed(f"crashed with {signal.Signals(-ran.returncode).name}{_last_line(ran.stderr)}")
        if ran.returncode > 0:
            raise HostFailed(f"ended with exit code {ran.returncode}{_last_line(ran.stderr)}")


def _without_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""


Mask = npt.NDArray[np.bool_]
Results = Mapping[str, Array]
_FAST = ("use_fast_math", "ftz=true", "prec-div=false", "prec-sqrt=false", "fmad=true", "extra-device-vectorization")


def _runs(runs: CaseRuns) -> Iterator[PlannedRun]:
    for kind in runs.case.settings.twins or ():
        run = _on_host if kind == "host" else partial(_on_device, kind=kind)
        yield PlannedRun(kind, partial(run, runs), RunFacts(label=kind))


def _failed(kind: str, label: str, why: str) -> FurtherRun:
    return FurtherRun("twin", kind, fault=why, facts=RunFacts(label=label))


def _dumped(
    runs: CaseRuns, kind: str, label: str, arrays: Results, causes: Mapping[str, tuple[Finding, ...]]
) -> FurtherRun:
    """Dump the results of a twin; one that equals the case's own is copied."""
    runs.launcher.entering("saving")
    folder, dumps = runs.folder.beside("twins").within(kind), dict[str, Dump]()
    for name, array in arrays.items():
        known = {dump.digest: dump.path for dump in runs.results if dump.buffer == name}
        dumps[name] = folder.write(name, array, known)
    return FurtherRun("twin", kind, dumps=dumps, facts=RunFacts(label=label, findings=causes))


# --- another device ---------------------------------------------------------------------------------------------------


def _on_device(runs: CaseRuns, kind: str) -> FurtherRun:
    missing = _missing(kind)
    if missing:
        return FurtherRun("twin", kind, left_out=missing, facts=RunFacts(label=kind))
    label = kind
    try:
        with registry.open_device(kind) as device:
            label = f"{device.info.name} ({device.info.model})"
            arrays = _launched(runs, device, _programs(runs, device), device.info.name)
    except KernelFault as fault:
        runs.is_lost |= fault.sticky
        return _failed(kind, label, f"failed with {fault.kind}: {fault}")
    except GpuregressError as error:
        return _failed(kind, label, str(error))
    return _dumped(runs, kind, label, arrays, {})


def _missing(kind: str) -> str:
    """Explain why this machine has no such device; "" if it has."""
    if kind != "cuda":
        return ""

    return "" if prerequisites.usable_gpus() else f"there is no GPU here: {prerequisites.lack()}"


def _programs(runs: CaseRuns, device: Device) -> tuple[Program, ...]:
    """Return the case's programs, for the device's own architecture where the job names none."""
    case, programs = runs.case, runs.launcher.task.programs
    if case.settings.arch is not None or not device.info.name.startswith("cuda"):
        return programs
    compiled = []
    for source, program in zip(case.sources, programs, strict=True):
        is_compiled_here = source.path.endswith((".cu", ".cuh", ".py"))
        if device.info.arch == program.arch or not is_compiled_here:
            compiled.append(program)
        else:
            compiled.append(compile_source(replace(source, arch=device.info.arch)))
    return tuple(compiled)


def _launched(runs: CaseRuns, device: Device, programs: tuple[Program, ...], label: str) -> dict[str, Array]:
    """Run the case's launches on a device and return each dumped buffer."""
    case, own = runs.case, runs.launcher
    task = replace(own.task, program=programs[0], other_programs=programs[1:], device_label=label)
    launcher = Launcher(device, task, own.log, own.entering, own.current)
    launcher.entering("preparing")
    try:
        device.limit_heap(case.limits.heap)
        loaded = launcher.load(thread_count(case.launches))
        memory = launcher.prepare(loaded, runs.filled)
        for _ in launcher.run(case.launches, loaded, memory):
            pass
        launcher.entering("saving")
        return {name: BufferReader(memory[name], case.buffers[name]).array() for name in case.dump}
    finally:
        own.current = launcher.current
        device.free_all()


# --- the host ---------------------------------------------------------------------------------------------------------


def _on_host(runs: CaseRuns) -> FurtherRun:
    runs.launcher.entering("preparing")
    compiler = host.find_compiler()
    if compiler is None:
        lack = "there is no C++ compiler on this host ($CXX, g++ or clang++)"
        return FurtherRun("twin", "host", left_out=lack, facts=RunFacts(label="host"))
    label = f"host ({compiler.version})"
    with storage.scratch() as scratch:
        twin = HostTwin(runs.case, compiler, scratch, runs.filled)
        try:
            arrays = twin.results()
            causes = _causes(runs, twin, arrays)
        except HostFailed as failed:
            name = runs.case.function.name if runs.case.function else "the function"
            return _failed("host", label, f"{name} {failed}")
        except host.IncompleteHeaders as lacking:
            return FurtherRun("twin", "host", left_out=str(lacking), facts=RunFacts(label="host"))
        except HarnessError:
            raise
        except GpuregressError as error:
            return _failed("host", label, str(error))
    return _dumped(runs, "host", label, arrays, causes)


def _causes(runs: CaseRuns, twin: HostTwin, arrays: Results) -> dict[str, tuple[Finding, ...]]:
    """Explain what differs; nothing is run where nothing does."""
    elements, device = dict[str, ElementType](), dict[str, Array]()
    for dump in runs.results:
        if dump.buffer in arrays:
            elements[dump.buffer] = dtypes.parse(runs.case.buffers[dump.buffer].dtype)
            device[dump.buffer] = reader.read(Path(dump.path)).array
    if not any(differing(elements[name], device[name], arrays[name]).any() for name in device):
        return {}
    call = runs.case.function
    library = call.library if call is not None else ()
    return explain(elements, device, arrays, _trials(runs, twin), library)


def _trials(runs: CaseRuns, twin: HostTwin) -> list[CauseTrial]:
    options, trials = runs.case.source.options, list[CauseTrial]()
    if not any("fmad=false" in option for option in options):
        message = "fused multiply-add on the device: with -fmad=false it gives the host's results"
        trials.append(CauseTrial("fma", message, partial(_recompiled, runs, without_contraction(options))))
    if is_fast(options):
        slow = without_fast_math(options)
        message = "fast mathematics on the device: without its options it gives the host's results"
        trials.append(CauseTrial("fast math", message, partial(_recompiled, runs, slow)))
        message = "fast mathematics and fused multiply-add on the device: without both it gives the host's results"
        trials.append(CauseTrial("fast math", message, partial(_recompiled, runs, without_contraction(slow))))
    contracted = host.contraction_flags()
    if contracted:
        message = "fused multiply-add: the host gives the device's results with -ffp-contract=fast"
        trials.append(CauseTrial("fma", message, host=partial(twin.results, contracted)))
    return trials


def _recompiled(runs: CaseRuns, options: tuple[str, ...]) -> dict[str, Array]:
    """Run the case on its own device with other compiler options."""
    runs.launcher.entering("preparing")
    source, device = replace(runs.case.source, options=options), runs.launcher.device
    device.free_all()
    return _launched(runs, device, (compile_source(source),), runs.launcher.device_label)


# --- causes -----------------------------------------------------------------------------------------------------------


class CauseTrial(Record):
    """A run without one possible cause.

    Attributes:
        name: of the cause.
        message: what it shows, if elements then agree.
        device: run the function on the device with that change; None: the device's own results.
        host: the same on the host.
    """

    name: str
    message: str
    device: Callable[[], Results] | None = None
    host: Callable[[], Results] | None = None


def without_contraction(options: Sequence[str]) -> tuple[str, ...]:
    """Return compiler options under which the device fuses nothing."""
    return (*(option for option in options if "fmad" not in option), "--fmad=false")


def without_fast_math(options: Sequence[str]) -> tuple[str, ...]:
    """Return compiler options without fast mathematics."""
    return tuple(option for option in options if not any(word in option for word in _FAST))


def is_fast(options: Sequence[str]) -> bool:
    """Tell whether options ask for fast mathematics."""
    return without_fast_math(options) != tuple(options)


def differing(element: ElementType, one: Array, other: Array) -> Mask:
    """Return which elements have other values: other bits, but for a NaN beside a NaN.

    Args:
        element: the type of both.
        one: any shape.
        other: the same shape.
    """
    result = np.zeros(one.size, dtype=np.bool_)
    columns = zip(element.parts, element.columns(one.reshape(-1)), element.columns(other.reshape(-1)), strict=True)
    for part, left, right in columns:
        bits = f"<u{part.scalar.size}"
        canonical = (dtypes.canonical_nans(np.ascontiguousarray(column), part.scalar) for column in (left, right))
        first, second = (column.view(bits) for column in canonical)
        result |= first != second
    return result


def explain(
    elements: Mapping[str, ElementType],
    device: Results,
    host: Results,
    trials: Sequence[CauseTrial],
    library: Sequence[str],
) -> dict[str, tuple[Finding, ...]]:
    """Explain the differences of each buffer.

    Args:
        elements: buffer → its type.
        device: buffer → the device's results.
        host: buffer → the host's results.
        trials: in the order in which they are run, as long as something is unexplained.
        library: the library functions that the function calls.

    Returns:
        Buffer that differs → its causes.
    """
    unexplained = {name: differing(elements[name], device[name], host[name]) for name in elements}
    totals = {name: int(mask.sum()) for name, mask in unexplained.items()}
    causes: dict[str, list[Finding]] = {name: [] for name, total in totals.items() if total}
    for trial in trials:
        if not any(unexplained[name].any() for name in causes):
            break
        changed_device = trial.device() if trial.device else device
        changed_host = trial.host() if trial.host else host
        for name, found in causes.items():
            agrees = ~differing(elements[name], changed_device[name], changed_host[name]) & unexplained[name]
            if agrees.any():
                found.append(_cause(trial.name, trial.message, int(agrees.sum()), totals[name]))
                unexplained[name] &= ~agrees
    for name, found in causes.items():
        rest = int(unexplained[name].sum())
        if rest and library:
            calls = " and ".join(library)
            message = f"likely the library: it calls {calls}, which CUDA's library and the host's round differently"
            found.append(_cause("library", message, rest, totals[name]))
        elif rest:
            found.append(_cause("unexplained", "unexplained", rest, totals[name]))
    return {name: tuple(found) for name, found in causes.items()}


def _cause(name: str, message: str, elements: int, of: int) -> Finding:
    return Finding(name, f"{message} ({elements} of {of} differing elements)", elements / of)


AXIS = RunAxis("twin", _runs)
