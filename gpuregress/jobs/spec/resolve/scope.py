"""Evaluation of a case's expressions, files, functions and dtypes, with errors at their keys."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.forms import Spec, forms, parts
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key, dotted
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec import expressions, templates
from gpuregress.jobs.spec.expressions import ExpressionError, Number, Value
from gpuregress.jobs.spec.models.values import EXPRESSION, FUNCTION, Bounds
from gpuregress.toolchain import cxx_types
from gpuregress.toolchain.python_kernels.autotuning import Configuration

Worked = TypeVar("Worked", bound=Record)
Valid = TypeVar("Valid")


class Scope(Record):
    """The values of names in one case.

    Attributes:
        names: parameter → value; also `seed`, once it is known, and `step` in a repeated launch.
        problems: collects the errors.
        case: `n=1000,tile=128`, for messages; "" where there are no parameters.
        added: names that are no parameters.
        tuning: the configuration of an autotuned kernel, whose values are among the names; None: there is none.
        refusals: collects what is over a device's limits, where that is no error of the job; None: it is one.
        overridden: parameters with a value of the command line that the job does not have.
        is_partner: whether the case is planned only because overridden ones are compared with it.
    """

    names: Mapping[str, Value]
    problems: Problems
    case: str = ""
    tuning: Configuration | None = None
    refusals: list[str] | None = None
    added: frozenset[str] = frozenset()
    overridden: tuple[str, ...] = ()
    is_partner: bool = False

    def with_step(self, step: int) -> Scope:
        """Return the scope of one step of a repeated launch."""
        return self._with("step", step)

    def _with(self, name: str, number: int) -> Scope:
        return replace(self, names={**self.names, name: number}, added=self.added | {name})

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters alone, without `seed` and `step`."""
        return {name: value for name, value in self.names.items() if name not in self.added}

    def refuse(self, key: Key, message: str, *values: float | str) -> None:
        """Report a number that is over every device's limit: an error, or the reason for a skip."""
        if self.refusals is None:
            self.error(key, message, *values)
        else:
            self.refusals.append(f"{dotted(key)}: {message}")

    def with_seed(self, seed: int) -> Scope:
        """Return the scope in which `seed` is the case's seed, unless a parameter has that name."""
        is_parameter = "seed" in self.names and "seed" not in self.added
        return self if is_parameter else self._with("seed", seed)

    def error(self, key: Key, message: str, *values: float | str) -> None:
        """Report an error.

        Args:
            key: where it is.
            message: what is wrong.
            values: what it comes from; where one of them has a parameter in it, the message says in which case.
        """
        names: set[str] = set()
        for value in values:
            if isinstance(value, str):
                names.update(expressions.names_in(value), templates.names_in(value))
        if self.case and names & {*self.names}:
            message = f"{message} (in case {self.case})"
        self.problems.add(key, message)

    def number(self, value: float | str, key: Key) -> Number | None:
        """Evaluate an expression; None if it is invalid, which is reported."""
        try:
            number = expressions.evaluate(value, self.names)
            return int(number) if isinstance(number, bool) else number
        except ExpressionError as error:
            self.error(key, str(error), value)
            return None

    def value(self, value: float | str, key: Key) -> Value | None:
        """Evaluate an expression, whose value may be text; None if it is invalid, which is reported."""
        try:
            return expressions.evaluate_any(value, self.names)
        except ExpressionError as error:
            self.error(key, str(error), value)
            return None

    def text(self, template: str, key: Key, *, strict: bool = False) -> str | None:
        """Replace the expressions in braces of a template; None if one is invalid, which is reported.

        Args:
            template: as the job has it: `axpy<{real}>`.
            key: its key.
            strict: whether braces always hold an expression; else those without a parameter stay as they are.
        """
        if "{" not in template:
            return template
        try:
            return templates.fill(template, self.names, strict=strict)
        except ExpressionError as error:
            self.error(key, str(error), template)
            return None

    def whole(self, value: float | str, key: Key, *, low: int, high: int | None = None, what: str) -> int | None:
        """Evaluate an expression to an integer between `low` and `high`; None if it is invalid, which is reported.

        Args:
            value: a number or expression.
            key: its key.
            low: the smallest that is right.
            high: the largest that is right; None: any.
            what: what it counts, as `threads`.
        """
        try:
            number = expressions.evaluate_whole(value, self.names)
        except ExpressionError as error:
            self.error(key, str(error), value)
            return None
        if number < low or (high is not None and number > high):
            bound = f"at least {low}" if number < low else f"at most {high}"
            self.error(key, f"{shown(value, number)}: {what or 'it'} must be {bound}", value)
            return None
        return number

    def wholes(
        self, values: Sequence[float | str], key: Key, *, low: int, high: int | None = None, what: str
    ) -> tuple[int, ...] | None:
        """Evaluate the expressions of a list as `whole` does one; None if one is invalid."""
        numbers = complete(
            [self.whole(value, (*key, at), low=low, high=high, what=what) for at, value in enumerate(values)]
        )
        return None if numbers is None else tuple(numbers)

    def real(
        self, value: float | str, key: Key, *, low: float = -math.inf, above: bool = False, high: float = math.inf
    ) -> float | None:
        """Evaluate an expression to a float within bounds; None if it is invalid, which is reported."""
        number = self.number(value, key)
        if number is None:
            return None
        if number < low or (above and number == low) or number > high:
            bounds = []
            if math.isfinite(low):
                bounds.append(f"{'above' if above else 'at least'} {low:g}")
            if math.isfinite(high):
                bounds.append(f"at most {high:g}")
            self.error(key, f"{shown(value, number)}: it must be {' and '.join(bounds)}", value)
            return None
        return float(number)


def complete(values: Sequence[Valid | None]) -> list[Valid] | None:
    """Return values of which each must be valid; None if one is None, which was reported when it was evaluated."""
    valid = [value for value in values if value is not None]
    return valid if len(valid) == len(values) else None


def record(scope: Scope, spec: Spec, kind: type[Worked], key: Key) -> Worked | None:
    """Work out a record of a case from a model: each field from the key of its name; None if one is invalid.

    Expressions are evaluated within their bounds, functions looked for, and models become the records of their fields.
    Where the job does not have a key, the record keeps its default.

    Args:
        scope: the case's values; errors are reported there.
        spec: as the job has it.
        kind: the class of the record.
        key: the model's.
    """
    before = scope.problems.reported
    targets = _field_types(kind)
    values = {}
    for name, written in spec.present().items():
        if name in targets:
            values[name] = _worked_out(scope, forms(type(spec))[name].type, written, targets[name], (*key, name))
    return kind(**values) if scope.problems.reported == before else None


@cache
def _field_types(kind: type[Record]) -> dict[str, Any]:
    return get_type_hints(kind)


def mapping(scope: Scope, spec: Spec, key: Key) -> dict[str, Any]:
    """Work out the keys of a model that the job has, without those that are invalid, which are reported."""
    values: dict[str, Any] = {}
    for name, written in spec.present().items():
        value = _worked_out(scope, forms(type(spec))[name].type, written, Any, (*key, name))
        if value is not None:
            values[name] = value
    return values


def _worked_out(scope: Scope, form: Any, written: Any, target: Any, key: Key) -> Any:
    """The value of one key; `target` is the type of the record's field."""
    form, annotations = parts(form)
    if isinstance(written, Spec):
        kind, _ = parts(target)
        if isinstance(kind, type) and issubclass(kind, Record):
            return record(scope, written, kind, key)
        return mapping(scope, written, key)
    if isinstance(written, list):
        (item_form,) = get_args(form)
        return tuple(_worked_out(scope, item_form, item, Any, (*key, at)) for at, item in enumerate(written))
    if FUNCTION in annotations:
        return existing_user_function(scope, written, key)
    if EXPRESSION not in annotations:
        return written
    for bounds in annotations:
        if isinstance(bounds, Bounds) and bounds.is_whole:
            return scope.whole(written, key, low=int(bounds.low), what=bounds.what)
        if isinstance(bounds, Bounds):
            return scope.real(written, key, low=bounds.low, above=bounds.above, high=bounds.high)
    return scope.number(written, key)


def shown(value: float | str, number: Number) -> str:
    """Quote a value in a message: `'n / tile' is 0`, or `is 0` for a plain number."""
    if isinstance(value, str) and value != str(number):
        return f"{value!r} is {number}"
    return f"is {number}"


# --- resolution of the files, folders and Python functions that a job names -------------------------------------------


def existing_file(problems: Problems, key: Key, text: str, what: str) -> Path | None:
    """Return the absolute path of a file; None if it does not exist, which is reported.

    Args:
        problems: collects the errors.
        key: of the path.
        text: relative to the job, or absolute.
        what: its role in messages, as `source`.
    """
    path = absolute(problems, text)
    try:
        if path.is_file():
            return path
        if path.is_dir():
            problems.add(key, f"the {what} {path} is a folder")
            return None
        near = _near(path)
    except (OSError, ValueError) as error:
        problems.add(key, f"the {what} {str(path)[:200]} cannot be read: {getattr(error, 'strerror', None) or error}")
        return None
    problems.add(key, f"{what} not found: {path}{near}")
    return None


def existing_folder(problems: Problems, key: Key, text: str) -> Path | None:
    """Return the absolute path of an include folder; None if it does not exist, which is reported."""
    path = absolute(problems, text)
    try:
        if path.is_dir():
            return path
    except (OSError, ValueError):
        pass
    problems.add(key, f"folder not found: {path}")
    return None


def existing_function(problems: Problems, key: Key, text: str) -> str | None:
    """Return `/abs/module.py:function`; None if the file or function does not exist, which is reported."""
    name = text.rpartition(":")[2]
    path = existing_file(problems, key, text.rpartition(":")[0], "Python file")
    if path is None:
        return None
    try:
        names = _top_names(path, path.stat().st_mtime_ns)
    except (OSError, SyntaxError, ValueError) as error:
        problems.add(key, f"{path} is not Python: {error}")
        return None
    if name not in names and "*" not in names:
        problems.add(key, f"{path} has no function {name!r}{suggestion(name, sorted(names))}")
        return None
    return f"{path}:{name}"


def absolute(problems: Problems, text: str) -> Path:
    """Resolve a path relative to the job file."""
    return Path(os.path.normpath(problems.document.path.absolute().parent / text))


def _near(path: Path) -> str:
    """Suggest a file of the same folder."""
    folder = path.parent
    if not folder.is_dir():
        return f" (folder not found: {folder})"
    files = sorted(item.name for item in folder.iterdir() if item.suffix == path.suffix and item.is_file())
    return suggestion(path.name, files, there_are="the folder holds")


@lru_cache(maxsize=64)
def _top_names(path: Path, _changed_ns: int) -> frozenset[str]:
    """Collect the names that a module defines, without importing it; cached until the file changes."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names)


# --- resolution of element types: a dtype, or a C++ type that a parameter gives ---------------------------------------


_FIELD = re.compile(r"\s*(\w+)\s*:\s*([^,{}]+?)\s*(?=,|$)")


def resolved_dtype(scope: Scope, text: str, key: Key) -> str | None:
    """Return the dtype that a text stands for in a case; None if there is none, which is reported.

    Args:
        scope: the case's values.
        text: a dtype, or a template as `{real}`, whose value is a dtype or a C++ type.
        key: its key.
    """
    if not templates.is_template(text):
        return text
    filled = scope.text(text, key, strict=True)
    if filled is None:
        return None
    known = _known_dtype(filled.strip())
    if known is None:
        hint = suggestion(filled, dtypes.known_names())
        scope.error(key, f"{text!r} is {filled!r}: no dtype holds this type{hint}", text)
    return known


def _known_dtype(text: str) -> str | None:
    """The name of a dtype, of a C++ type's dtype, or of a record of such."""
    if not (text.startswith("{") and text.endswith("}")):
        return cxx_types.dtype_of(text)
    fields: dict[str, str] = {}
    for name, type_ in _FIELD.findall(text[1:-1]):
        dtype = cxx_types.dtype_of(type_)
        if dtype is None:
            return None
        fields[name] = dtype
    if not fields:
        return None
    try:
        return dtypes.from_fields(fields).name
    except ValueError:
        return None


# --- resolution of the user's Python functions, whose file or name may hold parameters --------------------------------


def existing_user_function(scope: Scope, text: str, key: Key) -> str | None:
    """Return `/abs/module.py:function`; None if the file or function does not exist, which is reported.

    Args:
        scope: the case's values.
        text: `module.py:function`, as the job has it; `reference.py:of_{real}`.
        key: its key.
    """
    filled = scope.text(text, key)
    return None if filled is None else existing_function(scope.problems, key, filled)
