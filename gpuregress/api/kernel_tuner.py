"""Jobs from the arguments of Kernel Tuner's `tune_kernel`.

Kernel Tuner itself is not needed. Every configuration that it would try becomes a case, with the same macros, grid and
block, and the answer becomes a reference. A restriction or a grid that no expression says is tabulated.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpuregress import project, storage
from gpuregress.api import arrays
from gpuregress.api.jobs import Job, load_job
from gpuregress.document import yaml_writer
from gpuregress.errors import UsageError
from gpuregress.spec import expressions
from gpuregress.toolchain import cxx_declarations

Configuration = Mapping[str, Any]
_BLOCK = ("block_size_x", "block_size_y", "block_size_z")
_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
_MOST_CONFIGURATIONS = 100_000
_MOST_EXCEPTIONS = 2_000
_ALLCLOSE_RTOL = 1e-5
"""What numpy.allclose, which Kernel Tuner compares with, allows besides `atol`."""


def from_kernel_tuner(
    kernel_name: str,
    kernel_source: str | os.PathLike[str] | Sequence[str],
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
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

    Arrays are written beside the job as `.npy`; so is a source that is given as text.

    Args:
        kernel_name: as for `tune_kernel`.
        kernel_source: a file, the text, or several files, of which the first has the kernel.
        problem_size: as for `tune_kernel`: numbers, expressions or a function of the configuration.
        arguments: numpy arrays and numbers, or arrays of another library.
        tune_params: parameter → its values.
        grid_div_x: as for `tune_kernel`: numbers, expressions, functions.
        grid_div_y: likewise.
        grid_div_z: likewise.
        restrictions: expressions, or functions of the configuration.
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
        UsageError: an argument cannot be written as a job.
        JobErrors: the job is wrong.
    """
    _refuse(others)
    target = _target(kernel_name, path)
    parameters = {name: [_parameter(value) for value in values] for name, values in tune_params.items()}
    space = _Space(dict(tune_params), _restrictions(restrictions), _block_names(block_size_names, tune_params))
    source, text = _source(kernel_source, target, kernel_name)
    divisors = (grid_div_x, grid_div_y, grid_div_z)
    grid = [
        space.quotient(
            "the grid",
            _quotient(problem_size, divisors, space, axis),
            _grid(problem_size, divisors, space.block_names, axis),
        )
        for axis in range(3)
    ]
    buffers, launch_arguments, outputs = _buffers(kernel_name, arguments, text, target)
    for name, value in (cmem_args or {}).items():
        buffers[name] = {**_buffer(name, value, target), "symbol": name}
    launch: dict[str, Any] = {
        "kernel": kernel_name,
        "grid": _trimmed(grid),
        "block": _trimmed(space.block),
        "args": launch_arguments,
    }
    if smem_args and "size" in smem_args:
        launch["shared"] = space.expression("smem_args", lambda names: int(_value(smem_args["size"], names)))
    job: dict[str, Any] = {
        "source": source,
        "parameters": parameters,
        **({"where": space.where} if space.where else {}),
        "compile": _compile(space, grid, text, compiler_options, defines),
        "infeasible": "skip",
        "buffers": buffers,
        "launches": [launch],
        **_expected(answer, arguments, list(buffers), outputs, buffers, atol, target, _verify(verify)),
    }
    several = [name for name, values in tune_params.items() if len(values) > 1]
    dependent = list(agree) if agree is not None else [] if "reference" in job else several
    if dependent:
        job["agree"] = dependent
    storage.write_atomic(target, yaml_writer.write(job).encode())
    return load_job(target)


# --- configurations -------------------------------------------------------------------------------------------------


class _Space:
    """The configurations that Kernel Tuner would try.

    Args:
        parameters: name → values.
        restrictions: expressions and functions.
        block_names: parameters of the block's extents.
    """

    def __init__(self, parameters: dict[str, Sequence[Any]], restrictions: list[Any], block_names: list[str]) -> None:
        count = math.prod(len(values) for values in parameters.values())
        if count > _MOST_CONFIGURATIONS:
            raise UsageError(
                f"tune_params make {count:,} configurations: at most {_MOST_CONFIGURATIONS:,} become a job"
            )
        self.parameters, self.block_names = parameters, block_names
        self.all = [dict(zip(parameters, values, strict=True)) for values in itertools.product(*parameters.values())]
        is_valid = [all(_holds(restriction, one) for restriction in restrictions) for one in self.all]
        self.valid = [one for one, holds in zip(self.all, is_valid, strict=True) if holds]
        self._invalid = [one for one, holds in zip(self.all, is_valid, strict=True) if not holds]
        if not self.valid:
            raise UsageError("restrictions leave no configuration")
        self.where = list(self._where(restrictions))
        self.block = [self.expression("the block", _extent(block_names, axis)) for axis in range(3)]

    def expression(self, what: str, function: Callable[[Configuration], int]) -> int | str:
        """Return an expression of the parameters with the values of a function.

        A product or a rounded quotient of parameters is found by trying; anything else is a sum over the values of
        those parameters that decide it.

        Args:
            what: for messages.
            function: a configuration → a whole number.
        """
        values = [function(one) for one in self.valid]
        if len(set(values)) == 1:
            return values[0]
        deciding = self._deciding(values)
        text = self._table(deciding, values)
        if len(text) > expressions.MAX_LENGTH:
            raise UsageError(f"{what} has too many different values for an expression of a job: write it by hand")
        return text

    def quotient(self, what: str, text: str, function: Callable[[Configuration], int]) -> int | str:
        """Return a text where it has the values of a function, else what `expression` returns.

        Args:
            what: for messages.
            text: an expression, perhaps; "" for none.
            function: a configuration → a whole number.
        """
        values = [function(one) for one in self.valid]
        try:
            is_same = bool(text) and [expressions.evaluate_any(text, one) for one in self.valid] == values
        except expressions.ExpressionError:
            is_same = False
        return text if is_same and len(set(values)) > 1 else self.expression(what, function)

    def _deciding(self, values: Sequence[int]) -> list[str]:
        """The fewest parameters that decide a value."""
        for count in range(1, len(self.parameters) + 1):
            for names in itertools.combinations(self.parameters, count):
                seen: dict[tuple[Any, ...], int] = {}
                pairs = zip(self.valid, values, strict=True)
                if all(seen.setdefault(tuple(one[name] for name in names), value) == value for one, value in pairs):
                    return list(names)
        raise AssertionError("all parameters together decide every value")

    def _table(self, names: Sequence[str], values: Sequence[int]) -> str:
        if len(names) == 1 and all(one[names[0]] == value for one, value in zip(self.valid, values, strict=True)):
            return names[0]
        rows: dict[str, int] = {}
        for one, value in zip(self.valid, values, strict=True):
            rows[" and ".join(f"{name} == {_literal(one[name])}" for name in names)] = value
        return " + ".join(f"({condition}) * {value}" for condition, value in rows.items() if value)

    def _where(self, restrictions: Sequence[Any]) -> Iterator[str]:
        """The restrictions as expressions; what none says is left out configuration by configuration."""
        kept = [one for one in restrictions if isinstance(one, str) and self._is_same(one)]
        left = [one for one in self._invalid if all(expressions.evaluate_any(text, one) for text in kept)]
        if len(left) > _MOST_EXCEPTIONS:
            raise UsageError(
                f"restrictions: {len(left):,} configurations are left out by a function: write an expression"
            )
        yield from kept
        for one in left:
            yield f"not ({' and '.join(f'{name} == {_literal(value)}' for name, value in one.items())})"

    def _is_same(self, text: str) -> bool:
        """Whether an expression of Python is one of a job, and means the same."""
        try:
            return all(bool(expressions.evaluate_any(text, one)) == _holds(text, one) for one in self.all)
        except expressions.ExpressionError:
            return False


def _holds(restriction: Any, names: Configuration) -> bool:
    return bool(_value(restriction, names, by_keyword=True))


def _value(given: Any, names: Configuration, *, by_keyword: bool = False) -> Any:
    """The value of a number, an expression in Python, or a function of the configuration."""
    if isinstance(given, str):
        return eval(given, {"__builtins__": {}, "ceil": math.ceil, "min": min, "max": max}, dict(names))  # noqa: S307 - the user's own text, as Kernel Tuner evaluates it
    if not callable(given):
        return given
    if by_keyword and len(inspect.signature(given).parameters) != 1:
        return given(**names)
    return given(dict(names))


def _restrictions(given: Any) -> list[Any]:
    if given is None:
        return []
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    for one in listed:
        if not (isinstance(one, str) or callable(one)):
            raise UsageError(f"restrictions: {one!r} is neither an expression nor a function")
    return listed


def _block_names(given: Sequence[str] | None, parameters: Mapping[str, Any]) -> list[str]:
    if given is not None:
        return [*given, *_BLOCK[len(given) :]]
    own = sorted((name for name in parameters if name.lower() in _BLOCK and name not in _BLOCK), key=str.casefold)
    return [*own, *_BLOCK[len(own) :]]


def _extent(block_names: Sequence[str], axis: int) -> Callable[[Configuration], int]:
    """The threads of a block along an axis."""
    return lambda names: int(names.get(block_names[axis], 1))


def _grid(
    problem_size: Any, divisors: Sequence[Any], block_names: Sequence[str], axis: int
) -> Callable[[Configuration], int]:
    """The number of blocks along an axis, as Kernel Tuner computes it."""

    def blocks(names: Configuration) -> int:
        sizes = problem_size(dict(names)) if callable(problem_size) else problem_size
        listed = [sizes] if isinstance(sizes, str) or np.isscalar(sizes) else list(sizes)
        size = int(_value(listed[axis], names)) if axis < len(listed) else 1
        return math.ceil(size / _divisor(divisors[axis], block_names[axis], names))

    return blocks


def _quotient(problem_size: Any, divisors: Sequence[Any], space: _Space, axis: int) -> str:
    """The number of blocks along an axis as a person would write it; "" where functions are involved."""
    listed = [problem_size] if isinstance(problem_size, str) or np.isscalar(problem_size) else problem_size
    if callable(listed) or axis >= len(listed):
        return ""
    given = divisors[axis]
    listed_words = [given] if isinstance(given, str) or np.isscalar(given) else given
    words = [space.block_names[axis]] if listed_words is None else [*listed_words]
    if any(callable(word) for word in words):
        return ""
    texts = [str(word) for word in words if word in space.parameters or not str(word).isidentifier()]
    factors = [text if re.fullmatch(r"\w+", text) else f"({text})" for text in texts]
    size = str(listed[axis])
    if not factors:
        return size
    return f"ceil({size} / {factors[0]})" if len(factors) == 1 else f"ceil({size} / ({' * '.join(factors)}))"


def _divisor(given: Any, default: str, names: Configuration) -> float:
    if given is None:
        return float(names.get(default, 1))
    if isinstance(given, Sequence) and not isinstance(given, str):
        return math.prod(_divisor(one, default, names) for one in given)
    return float(_value(given, names))


# --- the parts of the job -------------------------------------------------------------------------------------------


def _refuse(others: Mapping[str, Any]) -> None:
    """Refuse the arguments that a job cannot have; those about measurements mean nothing to it."""
    if others.get("texmem_args"):
        raise UsageError("texmem_args: write a `texture:` for the buffer into the job (docs/textures.md)")
    language = others.get("lang")
    if language is not None and str(language).upper() not in ("CUDA", "CUPY", "NVCUDA"):
        raise UsageError(f"lang is {language}: a job is for CUDA")


def _verify(given: str | Callable[..., Any] | None) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    name = getattr(given, "__name__", "function")
    raise UsageError(
        f"verify: {name} is a function of Kernel Tuner's form: write one of a job's form (expected, actual → bool) "
        f'into a file, and pass verify="file.py:{name}" (docs/from-kernel-tuner.md)'
    )


def _target(kernel_name: str, path: str | os.PathLike[str] | None) -> Path:
    if path is not None:
        return Path(path).absolute()
    plain = re.sub(r"\W+", "_", cxx_declarations.strip_template_arguments(kernel_name))
    return project.find(Path.cwd()).configs / f"{plain}.yaml"


def _source(given: Any, target: Path, kernel_name: str) -> tuple[str, str]:
    """The path of the source from the job on, and its text."""
    if callable(given):
        raise UsageError("kernel_source is a function: write what it returns for one configuration, with macros")
    first = given[0] if isinstance(given, Sequence) and not isinstance(given, str) else given
    if isinstance(first, str) and re.search(r"[\n{};]", first):
        plain = re.sub(r"\W+", "_", cxx_declarations.strip_template_arguments(kernel_name))
        storage.write_atomic(target.parent / target.stem / f"{plain}.cu", first.encode())
        return f"{target.stem}/{plain}.cu", first
    path = Path(first).absolute()
    if not path.is_file():
        raise UsageError(f"kernel_source: there is no file {first}")
    return os.path.relpath(path, target.parent), path.read_text(encoding="utf-8", errors="replace")


def _buffers(
    kernel_name: str, arguments: Sequence[Any], text: str, target: Path
) -> tuple[dict[str, dict[str, Any]], list[Any], list[str]]:
    """The buffers, the arguments of the launch, and the buffers that the kernel may write."""
    plain = cxx_declarations.strip_template_arguments(kernel_name)
    matches = [
        one
        for one in cxx_declarations.declarations(text)
        if plain in (one.name, one.name.rpartition("::")[2]) and len(one.parameters) == len(arguments)
    ]
    declared = matches[0].parameters if len(matches) == 1 else ()
    buffers: dict[str, dict[str, Any]] = {}
    given: list[Any] = []
    outputs: list[str] = []
    for position, value in enumerate(arguments):
        written = declared[position] if declared else None
        name = (written.name if written else "") or f"arg{position}"
        if arrays.is_array(value) and np.ndim(value) > 0:
            buffers[name] = _buffer(name, value, target)
            given.append(name)
            if written is None or not written.const:
                outputs.append(name)
        else:
            given.append(_scalar(name, value))
    return buffers, given, outputs


def _buffer(name: str, value: Any, target: Path) -> dict[str, Any]:
    try:
        array, element = arrays.view(value if arrays.is_array(value) else np.asarray(value)).to_numpy()
    except (TypeError, ValueError) as error:
        raise UsageError(f"arguments: {name}: {error}") from None
    return {"dtype": element.name, "shape": list(array.shape), "fill": {"file": _saved(name, array, target)}}


def _saved(name: str, array: np.ndarray[Any, Any], target: Path) -> str:
    """Save an array beside the job; its path from the job on."""
    path = target.parent / target.stem / f"{name}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    with storage.atomic(path) as file:
        np.save(file, array)
    return f"{target.stem}/{name}.npy"


def _scalar(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, np.generic | np.ndarray):
        raise UsageError(f"arguments: {name} is {value!r}: pass a numpy array, or a number as numpy.int32(…)")
    return {np.asarray(value).dtype.name: np.asarray(value).item()}


def _parameter(value: Any) -> Any:
    """A value of a parameter; text that looks like a number stays text."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str) and not re.fullmatch(r"[A-Za-z_]\w*", plain):
        return {"text": plain}
    if not isinstance(plain, bool | int | float | str):
        raise UsageError(f"tune_params: {value!r} is neither a number, a boolean nor text")
    return plain


def _literal(value: Any) -> str:
    """A value in an expression."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return f'"{plain}"' if isinstance(plain, str) else repr(plain)


def _compile(
    space: _Space, grid: Sequence[Any], text: str, options: Sequence[str] | None, defines: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The macros that Kernel Tuner defines, as far as the source names them, and the options."""
    more: dict[str, Any] = {"kernel_tuner": 1}
    for names, values in ((_GRID, grid), (space.block_names, space.block)):
        more |= {
            name: value
            for name, value in zip(names, values, strict=True)
            if name not in space.parameters and re.search(rf"\b{name}\b", text)
        }
    macros: Any = [*space.parameters, more]
    if defines is not None:
        macros = {
            name: value if isinstance(value, int | float) else {"text": str(value)} for name, value in defines.items()
        }
        if any(callable(value) for value in defines.values()):
            raise UsageError("defines: a function of the configuration cannot be written into a job")
    return {"defines": macros, **({"options": list(options)} if options else {})}


def _expected(
    answer: Sequence[Any] | None,
    arguments: Sequence[Any],
    names: Sequence[str],
    outputs: Sequence[str],
    buffers: Mapping[str, Mapping[str, Any]],
    atol: float,
    target: Path,
    verify: str,
) -> dict[str, Any]:
    """The reference, the rules and the dumped buffers."""
    positions = [position for position, value in enumerate(arguments) if arrays.is_array(value) and np.ndim(value) > 0]
    if answer is not None and len(answer) != len(arguments):
        raise UsageError(f"answer has {len(answer)} entries; the kernel takes {len(arguments)} arguments")
    reference = {}
    for name, position in zip(names, positions, strict=False):
        wanted = None if answer is None else answer[position]
        if wanted is None:
            continue
        if not verify and list(np.shape(wanted)) != buffers[name]["shape"]:
            raise UsageError(
                f"answer: {name} has the shape {buffers[name]['shape']} and its answer {list(np.shape(wanted))}: pass "
                'verify="file.py:function", which compares the two'
            )
        reference[name] = _buffer(f"{name}.answer", np.atleast_1d(wanted), target)["fill"]["file"]
    compared = [*reference] or list(outputs)
    floats = [name for name in compared if "float" in buffers[name]["dtype"] or "complex" in buffers[name]["dtype"]]
    rules = {name: {"rtol": _ALLCLOSE_RTOL, "atol": float(atol)} for name in floats}
    parts: dict[str, Any] = {"dump": compared}
    if reference:
        parts["reference"] = reference
    if verify and reference:
        parts["verify"] = dict.fromkeys(reference, verify)
    if rules:
        parts["compare"] = rules
    return parts


def _trimmed(extents: Sequence[int | str]) -> list[int | str]:
    """The extents without those of 1 at the end."""
    kept = list(extents)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept
