"""Computation of a case's references, by Python functions, files or trusted kernels, and their dumps.

Cases of one run share what is the same for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.axes import shared_references
from gpuregress.execution.runner.axes.shared_references import SharedReferences, SharedResult
from gpuregress.execution.runner.case_runs import CaseRuns, PlannedRun, RunAxis, RunPlan
from gpuregress.execution.runner.dumps import BufferReader, DumpFolder
from gpuregress.execution.runner.launcher import Launcher, RunLabel
from gpuregress.execution.runner.poison import POISON
from gpuregress.foundation import dtypes, usermodules
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import GpuregressError, InfeasibleSource, KernelFault, LaunchRefused
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.records import Buffer, Case, Dump, FurtherRun, ReferenceKernel, RunFacts
from gpuregress.gpu import schedules
from gpuregress.gpu.records import replace
from gpuregress.jobs.inputs import files, reference_values
from gpuregress.jobs.inputs.reference_values import ReferenceFailed, ReferenceResult

Array = npt.NDArray[np.generic]


# References computed by the user's Python functions, in the worker.
# def block_sums(inputs: Mapping[str, Array], case: Case) -> Array
# `inputs` holds the filled buffers (read-only; bfloat16 as float32, which holds them exactly); `reference_values`
# says what the result may be.
def compute(
    function: str,
    case: Case,
    buffer: str,
    inputs: Mapping[str, Array],
    given: Case | None = None,
    *,
    is_verified: bool = False,
) -> ReferenceResult:
    """Call the function for a buffer's reference.

    Args:
        function: `/abs/module.py:name`.
        buffer: whose reference it is.
        inputs: filled buffer → array.
        given: handed to the function; None: the case itself.
        is_verified: a `verify` function decides.

    Raises:
        ReferenceFailed: the function raised, is not there, or gave something that is no such buffer.
    """
    call = _load(function)
    try:
        result = call({name: _given(array, case.buffers[name].dtype) for name, array in inputs.items()}, given or case)
    except Exception as error:
        description = usermodules.describe_error(error, function.rpartition(":")[0])
        raise ReferenceFailed(f"{_shown(function)} raised {description}") from error
    origin = f"{_shown(function)} returned"
    return reference_values.settle(result, case.buffers[buffer], origin, is_verified=is_verified)


def _load(function: str) -> Callable[[Mapping[str, Array], Case], Any]:
    try:
        return usermodules.load(function)
    except usermodules.UserModuleError as error:
        raise ReferenceFailed(str(error)) from error


def _given(array: Array, dtype: str) -> Array:
    """Return a buffer as the user's function gets it."""
    element = dtypes.parse(dtype)
    has_bfloat16 = any(part.scalar.kind == "bfloat" for part in element.parts)
    view = _with_numbers(array, element) if has_bfloat16 else array.view()
    view.flags.writeable = False
    return view


def _with_numbers(array: Array, element: ElementType) -> Array:
    """Convert the bfloat16 parts of an array to float32."""
    numbers: dict[str, Array] = {}
    for part, column in zip(element.parts, element.columns(array), strict=True):
        numbers[part.name] = dtypes.to_float(column, part.scalar)
    if len(numbers) == 1:
        (number,) = numbers.values()
        return number
    result = np.zeros(array.shape, [(name, column.dtype) for name, column in numbers.items()])
    for name, column in numbers.items():
        result[name] = column
    return result


def _shown(function: str) -> str:
    path, _, name = function.rpartition(":")
    return f"{Path(path).name}:{name}"


_PHASE = "launching the reference of"
"""The phase of trusted kernels, in which a hang or a crash is not the case's own; see `workers.watchdog`."""


@dataclass(slots=True)
class _References:
    """References of one case: their dumps, and why a reference is missing.

    Attributes:
        rounded: buffer → the reference in the buffer's dtype.
        unrounded: buffer → the same in float64, where rounding changed a value.
        errors: buffer → why there is no reference.
    """

    runs: CaseRuns
    rounded: dict[str, Dump] = field(default_factory=dict)
    unrounded: dict[str, Dump] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def launcher(self) -> Launcher:
        """The launcher of the case."""
        return self.runs.launcher

    def run(self) -> FurtherRun:
        """Compute and dump every reference, or take what another case of the run computed."""
        case, inputs_of = self.runs.case, self.runs.inputs
        for name, function in case.reference.items():
            buffer, is_verified = case.buffers[name], self._is_verified(name)
            key = shared_references.function_key(function, buffer, case.buffers, inputs_of, verified=is_verified)
            self._take(key, partial(self._call, name, function))
        for name, path in case.reference_files.items():
            self._add(self._settled({name: partial(self._read, name, path)}))
        for group in _shared(case.reference_kernels):
            self._take(self._kernels_key(group), partial(self._launch, group))
            if self.runs.is_lost:
                break
        return FurtherRun(
            "reference", "", dumps=self.rounded, facts=RunFacts(unrounded=self.unrounded, errors=self.errors)
        )

    def _take(self, key: str, compute: Callable[[], SharedResult]) -> None:
        """Take over a result; one of another case gets this case's names."""
        result = None
        if self.launcher.task.shared:
            folder = Path(self.launcher.task.shared) / "references"
            store = SharedReferences(folder, partial(self.launcher.entering, "preparing"))
            result, is_own = store.once(key, self.launcher.case, compute)
            if not is_own:
                result = self._named(result)
        self._add(compute() if result is None else result)

    def _add(self, result: SharedResult) -> None:
        self.rounded |= result.rounded
        self.unrounded |= result.unrounded
        self.errors |= result.errors

    def _named(self, result: SharedResult) -> SharedResult | None:
        """Another case's result under this case's names; None where a dump of it was changed or cannot be linked."""
        self.launcher.entering("saving")
        folder = self.runs.folder.beside("references")
        rounded = _adopted(folder, result.rounded)
        unrounded = _adopted(folder.within("unrounded"), result.unrounded)
        if rounded is None or unrounded is None:
            return None
        return SharedResult(rounded, unrounded, result.errors)

    def _call(self, name: str, function: str) -> SharedResult:
        """The reference of a user function, with the facts of the case that it looked at."""
        case, seen = self.launcher.case, set[str]()
        self.launcher.entering("computing")
        given = shared_references.watched(case, seen.add)
        is_verified = self._is_verified(name)
        call = partial(compute, function, case, name, self.runs.filled, given, is_verified=is_verified)
        result = self._settled({name: call})
        if result.errors:
            return replace(result, is_final=False)
        return replace(result, seen=tuple(sorted(seen)), files=usermodules.files(function))

    def _launch(self, names: Sequence[str]) -> SharedResult:
        """The references that trusted kernels compute; a fault is final, unless it lost the device."""
        try:
            contents = self._launched(names)
        except KernelFault as fault:
            self.runs.is_lost |= fault.sticky
            message = f"the reference's own kernel failed with {fault.kind}: {fault}"
            return SharedResult(errors=dict.fromkeys(names, message), is_final=not fault.sticky)
        except (InfeasibleSource, LaunchRefused) as refused:
            raise type(refused)(f"the reference of {', '.join(names)}: {refused}") from refused
        return self._settled({name: partial(self._of_twin, name, array) for name, array in contents.items()})

    def _settled(self, computations: Mapping[str, Callable[[], ReferenceResult]]) -> SharedResult:
        """Dump references, or note why there are none: buffer → what computes its reference."""
        rounded, unrounded, errors = {}, {}, {}
        for name, compute in computations.items():
            try:
                reference = compute()
            except ReferenceFailed as error:
                errors[name] = str(error)
                continue
            finally:
                self.launcher.entering("saving")
            rounded[name] = self._dump(name, reference)
            if reference.wide is not None:
                element = dtypes.widened(reference.element)
                folder = self.runs.folder.beside("references").within("unrounded")
                unrounded[name] = folder.write(name, reference.wide, {}, element)
        return SharedResult(rounded, unrounded, errors)

    def _is_verified(self, name: str) -> bool:
        """Tell whether a `verify` function compares a buffer with its reference."""
        case = self.launcher.case
        rule = case.reference_rules.get(name, case.compare.get(name))
        return rule is not None and rule.verify is not None

    def _read(self, name: str, path: str) -> ReferenceResult:
        buffer = self.launcher.case.buffers[name]
        try:
            values = files.read(path, dtypes.parse(buffer.dtype)).array
        except GpuregressError as error:
            raise ReferenceFailed(str(error)) from error
        origin = f"{Path(path).name} holds"
        return reference_values.settle(values, buffer, origin, is_verified=self._is_verified(name), any_shape=True)

    def _of_twin(self, name: str, array: Array) -> ReferenceResult:
        """The contents of the buffer in which trusted kernels left the reference."""
        case = self.launcher.case
        twin = case.buffers[case.reference_kernels[name].buffer or name]
        held, buffer = dtypes.parse(twin.dtype), case.buffers[name]
        if (twin.dtype, twin.shape) == (buffer.dtype, buffer.shape):
            return ReferenceResult(array, held)
        values = conversion.widened(array, held) if held.is_float else array
        return reference_values.settle(values, buffer, f"{twin.name} holds", is_verified=self._is_verified(name))

    def _launched(self, names: Sequence[str]) -> dict[str, Array]:
        """Run trusted kernels on freshly filled buffers; the usual schedule is theirs."""
        case, kernel = self.runs.case, self.runs.case.reference_kernels[names[0]]
        plan = RunPlan(
            RunLabel(phase=_PHASE),
            launches=kernel.launches,
            programs=((kernel.source, self.launcher.task.references[names[0]]),),
            schedule=schedules.FORWARD,
            poison=POISON,
            has_status=False,
        )
        memory = self.runs.memory(plan)
        held = {name: case.reference_kernels[name].buffer or name for name in names}
        return {name: BufferReader(memory[buffer], case.buffers[buffer]).array() for name, buffer in held.items()}

    def _kernels_key(self, names: Sequence[str]) -> str:
        launcher = self.launcher
        kernel = launcher.case.reference_kernels[names[0]]
        buffers = _reachable(kernel, launcher.case)
        inputs = self.runs.inputs
        return shared_references.kernels_key(
            names=[self._compared(name) for name in names],
            program=launcher.task.references[names[0]],
            launches=kernel.launches,
            buffers=buffers,
            inputs={buffer.name: inputs[buffer.name] for buffer in buffers if buffer.name in inputs},
            device=launcher.device.info,
        )

    def _compared(self, name: str) -> str:
        """The buffer that a reference is compared with, the buffer that holds it, and who compares them."""
        buffer, left = self.launcher.case.buffers[name], self.launcher.case.reference_kernels[name].buffer or name
        by = "verify" if self._is_verified(name) else "rule"
        return f"{name} {buffer.dtype} {list(buffer.shape)} from {left} by {by}"

    def _dump(self, name: str, reference: ReferenceResult) -> Dump:
        known = {dump.digest: dump.path for dump in self.runs.results if dump.buffer == name}
        folder = self.runs.folder.beside("references")
        return folder.write(name, reference.array, known, reference.element, reference.array.shape)


def _reachable(kernel: ReferenceKernel, case: Case) -> list[Buffer]:
    """The buffers that the launches of a reference take, and the variables of its source."""
    names = {name for launch in kernel.launches for name in launch.buffers}
    return [
        buffer for name, buffer in case.buffers.items() if name in names or (buffer.symbol in kernel.source.symbols)
    ]


def _shared(kernels: Mapping[str, ReferenceKernel]) -> list[list[str]]:
    """Group the buffers whose references come from the same launches: those are run once."""
    groups: list[list[str]] = []
    for name, kernel in kernels.items():
        for group in groups:
            first = kernels[group[0]]
            if (first.source, first.launches) == (kernel.source, kernel.launches):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _adopted(folder: DumpFolder, dumps: Mapping[str, Dump]) -> dict[str, Dump] | None:
    """Take over dumps of another case; None where one of them cannot be."""
    adopted = {}
    for name, dump in dumps.items():
        copy = folder.adopt(dump)
        if copy is None:
            return None
        adopted[name] = copy
    return adopted


def _runs(runs: CaseRuns) -> Iterator[PlannedRun]:
    yield PlannedRun("", _References(runs).run)


AXIS = RunAxis("reference", _runs)
