"""Resolution of kernels in Python: types, constants and settings of one case.

They are checked against the function, whose file is read and not imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import PythonKernel
from gpuregress.foundation.wording import plural, suggestion
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.buffer import TensorMapSpec
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.launch import LaunchSpec
from gpuregress.jobs.spec.models.rules import ReferenceSpec
from gpuregress.jobs.spec.models.values import PlainTextSpec
from gpuregress.jobs.spec.resolve import tensor_maps
from gpuregress.jobs.spec.resolve.launches import first_of_entries
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain.python_kernels import function_parameters
from gpuregress.toolchain.python_kernels.autotuning import Configuration
from gpuregress.toolchain.python_kernels.function_parameters import FunctionParameter

Language = Literal["triton", "numba", "warp", "python"]
_TRITON_TYPES = {
    "i1": ("bool",),
    **{f"i{bits}": (f"int{bits}",) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (f"uint{bits}",) for bits in (8, 16, 32, 64)},
    "fp16": ("float16",),
    "bf16": ("bfloat16",),
    "fp32": ("float32",),
    "fp64": ("float64",),
    "fp8e4nv": ("uint8", "int8"),
    "fp8e5": ("uint8", "int8"),
}
"""Triton's name of a type → the dtypes of buffers and scalars that it takes."""

_TRITON = re.compile(r"(?P<pointer>\*k?)?(?P<type>\w+)(?P<aligned>:16)?")
_DESCRIPTOR = re.compile(r"tensordesc<(?P<type>\w+)\[(?P<block>\s*\d+\s*(?:,\s*\d+\s*)*)\]>")
_NUMBA = re.compile(r"(?P<type>\w+)(?:\[(?P<axes>[:1, ]+)\])?")
_NUMBA_TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
_COUNTS = {"num_warps": 32, "num_stages": 16, "num_ctas": 16}
_ALIGNMENT = 16


Levels = Sequence[tuple[LaunchSpec | ReferenceSpec | JobSpec, Key]]
"""The parts of a job that may have settings of a kernel, with their keys; the first that has one counts."""


def job_levels(file: JobFile, launch: int | None) -> Levels:
    """Return the levels of a kernel that the job's launches take.

    Args:
        file: the job.
        launch: the entry of `launches` that has settings of its own; None: the job's.
    """
    job: Levels = [(file.job, ())]
    if launch is None:
        return job
    return [(file.launches[launch], ("launches", launch)), *job]


def reference_levels(file: JobFile, name: str) -> Levels:
    """Return the levels of a kernel of a reference: a source of its own has nothing of the job's.

    Args:
        file: the job.
        name: of the buffer.
    """
    item = file.job.reference[name]
    own: Levels = [(item, ("reference", name))]
    return own if item.source is not None else [*own, (file.job, ())]


def tuning_applies(levels: Levels, configuration: Configuration) -> bool:
    """Tell whether a kernel is left to its configurations: the job gives none of their constants and settings.

    Args:
        levels: where the job's settings are looked for.
        configuration: one of the kernel's.
    """
    for spec, _ in levels:
        constants = getattr(spec, "constants", None) or {}
        if any(name in constants for name in configuration.constants):
            return False
        if any(name in spec.written for name in configuration.settings):
            return False
    return True


class KernelResolver:
    """One kernel in one case.

    Args:
        file: the job.
        scope: the case's values; errors are reported there.
        language: of the kernel.
        levels: where its settings are looked for.
    """

    def __init__(self, file: JobFile, scope: Scope, language: Language, levels: Levels) -> None:
        self._file, self._scope, self._language, self._levels = file, scope, language, levels

    def resolved(self, function: str, content: bytes, options: Sequence[str]) -> PythonKernel | None:
        """Resolve the kernel; None if it is invalid, which is reported.

        Args:
            function: its name.
            content: of its file.
            options: further settings of the compiler: `--maxnreg=128`.
        """
        before = self._scope.problems.reported
        if self._language == "python":
            return PythonKernel("python", function, constants=self._scope.parameters)
        signature = self._signature()
        constants = self._constants()
        settings = self._settings()
        tuning = self._scope.tuning
        if tuning is not None and tuning.function == function and tuning_applies(self._levels, tuning):
            constants.update(tuning.constants)
            settings.update(tuning.settings)
        settings.update(_options(options))
        parameters = function_parameters.of_function(content, function)
        if parameters is not None and self._language != "warp":
            signature = self._checked(function, parameters, signature, constants)
        if self._scope.problems.reported > before:
            return None
        return PythonKernel(self._language, function, signature, constants, settings)

    def _given(self, name: str) -> tuple[Any, Key]:
        """A setting and its key, from the first level that has it; without any, the key that asks for it."""
        for spec, key in self._levels:
            if name in spec.written and getattr(spec, name) is not None:
                return getattr(spec, name), (*key, name)
        _, key = self._levels[-1]
        return None, key or ("source",)

    def _signature(self) -> dict[str, str]:
        templates, key = self._given("signature")
        if templates and self._language == "warp":
            self._scope.error(key, "is for Triton and Numba: a Warp kernel declares the types of its parameters")
        signature: dict[str, str] = {}
        for name, template in (templates or {}).items():
            text = self._scope.text(template, (*key, name))
            if text is None:
                continue
            signature[name] = text
            problem = None if self._language == "warp" else _type_problem(self._language, text)
            if problem is not None:
                self._scope.error((*key, name), problem, template)
        return signature

    def _constants(self) -> dict[str, bool | int | float | str | None]:
        given, key = self._given("constants")
        if given and self._language != "triton":
            self._scope.error(key, f"is for language: triton, and this is {self._language}")
        constants: dict[str, bool | int | float | str | None] = {}
        for name, item in (given or {}).items():
            value: bool | int | float | str | None = item
            if isinstance(item, PlainTextSpec):
                value = self._scope.text(item.text, (*key, name))
            elif item is not None and not isinstance(item, bool | float):
                value = self._scope.value(item, (*key, name))
            if value is not None or item is None:
                constants[name] = value
        return constants

    def _settings(self) -> dict[str, bool | int | float | str]:
        settings: dict[str, bool | int | float | str] = {}
        for name, most in _COUNTS.items():
            given, key = self._given(name)
            if given is None:
                continue
            if self._language != "triton":
                self._scope.error(key, f"is for language: triton, and this is {self._language}")
                continue
            is_stages = name == "num_stages"
            number = self._scope.whole(given, key, low=0 if is_stages else 1, high=most, what=name)
            if number is None:
                continue
            settings[name] = number
            if number & (number - 1) and not is_stages:
                self._scope.error(key, f"is {number}: {name} must be a power of two", given)
        return settings

    def _checked(
        self,
        function: str,
        parameters: Sequence[FunctionParameter],
        signature: Mapping[str, str],
        constants: Mapping[str, object],
    ) -> dict[str, str]:
        """Compare the types and constants with the function's parameters; the types in its order."""
        _, key_types = self._given("signature")
        _, key_constants = self._given("constants")
        by_name = {parameter.name: parameter for parameter in parameters}
        for name in (*signature, *constants):
            key = (*(key_types if name in signature else key_constants), name)
            if name not in by_name:
                self._scope.error(key, f"{function} has no parameter {name!r}{suggestion(name, by_name)}")
            elif name in signature and name in constants:
                self._scope.error(key, f"{name!r} is in constants, too: leave one out")
            elif name in signature and by_name[name].is_constant:
                text = f"parameter {name!r} of {function} is a tl.constexpr: its value belongs into constants"
                self._scope.error(key, text)
        if self._file.is_broken("signature", "constants", "launches", "reference"):
            return dict(signature)
        for name, parameter in by_name.items():
            if name in signature or name in constants or parameter.has_default:
                continue
            if parameter.is_constant:
                text = f"parameter {name!r} of {function} has no value: constants: {{{name}: …}}"
                self._scope.error(key_constants, text)
            else:
                example = "*fp32" if self._language == "triton" else "float32[::1]"
                text = f"parameter {name!r} of {function} has no type: signature: {{{name}: {example!r}}}"
                self._scope.error(key_types, text)
        return {name: signature[name] for name in by_name if name in signature}


def check_arguments(
    scope: Scope,
    kernel: PythonKernel,
    launches: Sequence[records.Launch],
    buffers: Mapping[str, records.Buffer],
    section: Key = ("launches",),
) -> None:
    """Compare the arguments of launches with the types of the kernel's signature.

    Args:
        scope: the case's values.
        kernel: what is launched.
        launches: those of it.
        buffers: of the case.
        section: where the launches are in the job.
    """
    if kernel.language in ("warp", "python"):  # their parameters are known when they are compiled
        return
    signature = kernel.signature
    for origin, launch in first_of_entries(launches).items():
        key: Key = (*section, origin, "args")
        if len(launch.args) != len(signature):
            wanted = f"{plural(len(signature), 'argument')} ({', '.join(signature)})"
            scope.error(key, f"{kernel.function} takes {wanted}, not {len(launch.args)}")
            continue
        for position, (argument, (name, text)) in enumerate(zip(launch.args, signature.items(), strict=True)):
            problem = _offset_problem(argument, text) or _argument_problem(kernel.language, argument, text, buffers)
            if problem:
                scope.error((*key, position), f"{problem}, and signature.{name} is {text}")
    _check_alignment(scope, kernel, launches, section)


def with_arguments(
    scope: Scope,
    kernel: PythonKernel,
    content: bytes,
    launches: Sequence[records.Launch],
    buffers: Mapping[str, records.Buffer],
    section: Key = ("launches",),
) -> PythonKernel:
    """Return a kernel with the arguments of its launches, where heuristics compute constants from them.

    Args:
        scope: the case's values.
        kernel: what is launched.
        content: of its file.
        launches: those of it.
        buffers: of the case.
        section: where the launches are in the job.
    """
    if kernel.language != "triton" or "heuristics" not in function_parameters.decorators(content, kernel.function):
        return kernel
    seen: dict[int, dict[str, bool | int | float | tuple[int, ...] | None]] = {}
    for origin, launch in first_of_entries(launches).items():
        seen[origin] = {}
        for position, (name, argument) in enumerate(zip(kernel.signature, launch.args, strict=False)):
            if argument.offset:
                text = f"offset {argument.offset} is given, and heuristics of {kernel.function} see whole buffers"
                scope.error((*section, origin, "args", position), f"{text}: leave it out")
            seen[origin][name] = _heuristic_value(argument, buffers)
    first = min(seen, default=0)
    for origin, arguments in seen.items():
        if arguments != seen[first]:
            text = f"differ from those of launches[{first}], and heuristics of {kernel.function} compute constants from"
            scope.error((*section, origin, "args"), f"{text} them: give one launch its own constants")
    return replace(kernel, arguments=seen.get(first, {}))


def _heuristic_value(
    argument: records.Argument, buffers: Mapping[str, records.Buffer]
) -> bool | int | float | tuple[int, ...] | None:
    """An argument as a heuristic sees it: a number, the shape of a buffer, or None."""
    if argument.kind == "buffer" and argument.buffer in buffers:
        return buffers[argument.buffer].shape
    if argument.kind != "scalar":
        return None
    value = _option_value(argument.text)
    return value if isinstance(value, int | float) else None


def _check_alignment(scope: Scope, kernel: PythonKernel, launches: Sequence[records.Launch], section: Key) -> None:
    """Report numbers that are no multiples of 16 although the signature promises it."""
    promised = [name for name, text in kernel.signature.items() if text.endswith(":16")]
    if not promised:
        return
    for launch in launches:
        for position, (name, argument) in enumerate(zip(kernel.signature, launch.args, strict=False)):
            if name not in promised or argument.kind != "scalar":
                continue
            if int.from_bytes(bytes.fromhex(argument.data), "little") % _ALIGNMENT:
                text = f"is {argument.text}, and signature.{name} promises a multiple of {_ALIGNMENT} (:16)"
                scope.error((*section, launch.origin, "args", position), text)
                return


def _options(options: Sequence[str]) -> dict[str, bool | int | float | str]:
    """`--maxnreg=128` as a setting; `--debug` is true."""
    settings: dict[str, bool | int | float | str] = {}
    for option in options:
        name, sign, text = option.lstrip("-").partition("=")
        settings[name.replace("-", "_")] = _option_value(text) if sign else True
    return settings


def _option_value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _type_problem(language: str, text: str) -> str | None:
    if language != "triton":
        match = _NUMBA.fullmatch(text)
        if match and match["type"] in _NUMBA_TYPES:
            return None
        types = ", ".join(_NUMBA_TYPES)
        return f"unknown type {text!r}; it has {types}, and arrays as float32[:], float32[::1] or float32[:, ::1]"
    match = _TRITON.fullmatch(text) or _DESCRIPTOR.fullmatch(text)
    if match and match["type"] in _TRITON_TYPES:
        return None
    if text.startswith(("tensordesc", "nvTmaDesc")):
        return f"unknown descriptor {text!r}: write its type and its block, such as tensordesc<fp16[128,64]>"
    hint = f"; it has {', '.join(_TRITON_TYPES)}"
    for name, dtypes_of_type in _TRITON_TYPES.items():
        if text.strip("* ") in dtypes_of_type:
            hint = f"; Triton's name of it is {name!r}"
            break
    return f"unknown type {text!r}{hint}; a pointer begins with *, and :16 after it promises a multiple of 16"


def _offset_problem(argument: records.Argument, text: str) -> str | None:
    """Explain why an address inside of a buffer cannot be taken; None if it can."""
    if argument.offset and ("[" in text or text.startswith("tensordesc")):
        return f"offset {argument.offset} is given: an array or a descriptor is a whole buffer"
    if argument.offset % _ALIGNMENT and text.endswith(":16"):
        return f"offset {argument.offset} is not a multiple of {_ALIGNMENT}"
    return None


def _argument_problem(
    language: str, argument: records.Argument, text: str, buffers: Mapping[str, records.Buffer]
) -> str | None:
    if language == "triton":
        descriptor = _DESCRIPTOR.fullmatch(text)
        if descriptor is not None:
            return _descriptor_problem(argument, descriptor, buffers)
        match = _TRITON.fullmatch(text)
        if match is None or match["type"] not in _TRITON_TYPES:
            return None
        return _mismatch(argument, _TRITON_TYPES[match["type"]], buffers, pointer=bool(match["pointer"]))
    match = _NUMBA.fullmatch(text)
    if match is None:
        return None
    if match["axes"] is None:
        return _mismatch(argument, (match["type"],), buffers, pointer=False)
    if argument.kind == "null":
        return "null is not an array"
    axes = match["axes"].count(",") + 1
    buffer = buffers.get(argument.buffer)
    if buffer is not None and len(buffer.shape) != axes:
        return f"{buffer.name} has {len(buffer.shape)} axes"
    return _mismatch(argument, (match["type"],), buffers, pointer=True)


def _descriptor_problem(
    argument: records.Argument, descriptor: re.Match[str], buffers: Mapping[str, records.Buffer]
) -> str | None:
    """Explain why a buffer cannot be taken as a descriptor; None if it can."""
    if argument.kind == "null":
        return "null is not a tensor"
    problem = _mismatch(argument, _TRITON_TYPES[descriptor["type"]], buffers, pointer=True)
    if problem or argument.buffer not in buffers:
        return problem
    buffer = buffers[argument.buffer]
    block = [int(number) for number in descriptor["block"].split(",")]
    given = buffer.tensor_map
    axes = len(buffer.shape) if given is None else len(given.extents)
    if axes != len(block):
        return f"{buffer.name} has {axes} axes"
    if given is None:
        return None
    if given.im2col is not None or given.interleave != "none" or set(given.element_strides) != {1}:
        return f"{buffer.name} has a tensor map with im2col, interleave or element_strides"
    box = list(given.box[::-1])
    return None if box == block else f"{buffer.name} has a tensor map of box {box}"


def check_descriptors(
    scope: Scope,
    kernels: Sequence[tuple[PythonKernel, Sequence[records.Launch]]],
    buffers: Mapping[str, records.Buffer],
) -> None:
    """Check buffers that kernels take as descriptors: each by the rules of tensor maps, and with one block.

    Args:
        scope: the case's values.
        kernels: those of the case with their launches.
        buffers: of the case.
    """
    blocks: dict[str, str] = {}
    for kernel, launches in kernels:
        for origin, launch in first_of_entries(launches).items():
            for position, (argument, text) in enumerate(zip(launch.args, kernel.signature.values(), strict=False)):
                descriptor = _DESCRIPTOR.fullmatch(text)
                if descriptor is None or argument.buffer not in buffers:
                    continue
                buffer = buffers[argument.buffer]
                block = "".join(descriptor["block"].split())
                if blocks.setdefault(buffer.name, block) != block:
                    other = f"{buffer.name} is a descriptor with block [{blocks[buffer.name]}] elsewhere in the case"
                    scope.error(("launches", origin, "args", position), f"{other}, and here with [{block}]")
                elif buffer.tensor_map is None:
                    given = TensorMapSpec.of({"box": [int(number) for number in block.split(",")]})
                    tensor_maps.tensor_map(scope, given, buffer, ("buffers", buffer.name))


def _mismatch(
    argument: records.Argument, takes: Sequence[str], buffers: Mapping[str, records.Buffer], *, pointer: bool
) -> str | None:
    if argument.kind == "struct":
        return "a struct is given"
    if argument.kind == "scalar":
        if pointer:
            return f"{argument.dtype} is a number: name a buffer"
        given = dtypes.parse(argument.dtype)
        taken = dtypes.parse(takes[0])
        if given.size == taken.size and given.is_float == taken.is_float:
            return None
        return f"{argument.dtype} is given: write {{{takes[0]}: …}}"
    if not pointer:
        what = f"{argument.buffer} is a buffer" if argument.buffer else "null is a pointer"
        return f"{what}: write {{{takes[0]}: …}}"
    buffer = buffers.get(argument.buffer)
    if buffer is None or buffer.dtype in takes:
        return None
    return f"{buffer.name} is {buffer.dtype}"
