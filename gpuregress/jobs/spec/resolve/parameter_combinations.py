"""Combinations of a job's parameters, filtered by where, and the values of each."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.escapes import one_line
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import ExpressionError, Value
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.values import PlainTextSpec
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain.python_kernels.autotuning import Configuration

MAX_CASES = 100_000
MAX_COMBINATIONS = 5_000_000
MAX_NAME = 200


Tuning = Callable[[Mapping[str, Value]], Sequence[Configuration | None]]
"""A combination of parameters → the configurations of its kernel, each a case; [None] without any."""


def scopes(file: JobFile, problems: Problems, tuning: Tuning = lambda _names: [None]) -> tuple[Scope, ...]:
    """Return one scope for each case of the job.

    Args:
        file: the job.
        problems: collects the errors; they may leave no case.
        tuning: multiplies the combinations by the configurations of an autotuned kernel.
    """
    values = parameter_values(file, problems)
    if values is None:
        return ()
    count = math.prod(len(choices) for choices in values.values())
    if count > MAX_COMBINATIONS:
        problems.add(("parameters",), f"make {count:,} combinations: at most {MAX_COMBINATIONS:,} are tried")
        return ()
    cases: list[Scope] = []
    before = problems.reported
    for names, configuration in _selected(file, values, problems, tuning):
        if len(cases) == MAX_CASES:
            problems.add(("parameters",), f"make more than {MAX_CASES:,} cases: split the job, or say more in `where`")
            return ()
        cases.append(Scope(names, problems, case_text(names), configuration))
    is_where_valid = not any(error.key.startswith("where") for error in problems.errors)
    if not cases and problems.reported == before and is_where_valid and not file.is_broken("parameters", "where"):
        problems.add(("where",), f"leaves none of the {count} combinations: the job has no case")
    longest = max((len(scope.case) for scope in cases), default=0)
    if longest > MAX_NAME:
        problems.add(("parameters",), f"make a case name of {longest} characters; the limit is {MAX_NAME}")
    return tuple(cases)


def case_text(names: Mapping[str, Value]) -> str:
    """Return `n=1000,real=float`, which is also the name of the case's folder."""
    return ",".join(f"{name}={spelling(value)}" for name, value in names.items())


def _selected(
    file: JobFile, values: Mapping[str, tuple[Value, ...]], problems: Problems, tuning: Tuning
) -> Iterator[tuple[dict[str, Value], Configuration | None]]:
    """Yield the combinations that fulfil the conditions of `where`, each with its configurations."""
    conditions = dict(zip(file.positions("where"), file.job.where, strict=True))
    for combination in itertools.product(*values.values()):
        parameters = dict(zip(values, combination, strict=True))
        for configuration in tuning(parameters):
            names = dict(parameters)
            if configuration is not None:
                names.update(configuration.parameters)
            if _fulfils(names, conditions, problems):
                yield names, configuration


def _fulfils(names: dict[str, Value], conditions: dict[int, float | str], problems: Problems) -> bool:
    """Tell whether values fulfil all conditions; one that cannot be evaluated is reported and taken out."""
    for position, condition in list(conditions.items()):
        try:
            if not expressions.evaluate(condition, names):
                return False
        except ExpressionError as error:
            del conditions[position]
            where = f" (where {case_text(names)})" if names else ""
            problems.add(("where", position), f"{error}{where}")
    return True


# --- values of parameters: numbers, booleans and text, with their spelling in the name of a case ----------------------


_WORD = re.compile(r"\w", re.ASCII)
_SEPARATORS = re.compile(r"[\s<>,():]+")
_OTHER = re.compile(r"[^A-Za-z0-9_.+-]")


def parameter_values(file: JobFile, problems: Problems) -> dict[str, tuple[Value, ...]] | None:
    """Evaluate the values of each parameter; None if one is invalid, which is reported.

    Args:
        file: the job.
        problems: collects the errors.
    """
    values: dict[str, tuple[Value, ...]] = {}
    before = len(problems)
    for name, choices in file.job.parameters.items():
        spelled: dict[str, Value] = {}
        known: dict[tuple[bool, Value], None] = {}
        for position, choice in enumerate(choices):
            key = ("parameters", name, position)
            try:
                value = _value(choice, file)
            except ExpressionError as error:
                problems.add(key, str(error))
                continue
            _check(value, spelled, known.keys(), key, problems)
            spelled.setdefault(spelling(value), value)
            known[_identity(value)] = None
        values[name] = tuple(value for _, value in known)
    return None if len(problems) > before or file.is_broken("parameters") else values


def spelling(value: Value) -> str:
    """Write a value so that it can be part of a file's name and of a shell's word.

    `unsigned long long` is `unsigned_long_long`, `vec<float, 4>` is `vec_float_4`; what is no letter, digit or bracket
    of a type is written as in a URL: `float*` is `float%2A`.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    text = "_".join(filter(None, _SEPARATORS.split(value))) if _WORD.search(value) else value
    return _OTHER.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def _value(choice: float | str | PlainTextSpec, file: JobFile) -> Value:
    """A constant expression is its number; other text is a value of its own."""
    if isinstance(choice, PlainTextSpec):
        return choice.text
    if not isinstance(choice, str):
        return choice
    try:
        names = expressions.parse(choice).names
    except ExpressionError:
        return choice
    for name in names:
        if name in file.job.parameters:
            reason = f"{choice!r} uses the parameter {name!r}: a value is a constant; as text it is {{text: {choice}}}"
            raise ExpressionError(reason)
    if names:
        return choice
    value = expressions.evaluate_any(choice, {})
    if isinstance(value, bool) and choice.strip() not in ("true", "false"):
        return int(value)
    return value


def _identity(value: Value) -> tuple[bool, Value]:
    """Return what equal values share: `True == 1`, but they are two values."""
    return isinstance(value, bool), value


def _check(
    value: Value, spelled: dict[str, Value], known: AbstractSet[tuple[bool, Value]], key: Key, problems: Problems
) -> None:
    """Report a value that is there already, or whose cases would have the name of another's."""
    if isinstance(value, str) and one_line(value) != value:
        problems.add(key, f"{value!r} holds a control character")
    if _identity(value) in known:
        problems.add(key, f"duplicate value {value!r}")
    elif spelling(value) in spelled:
        other = spelled[spelling(value)]
        text = f"{value!r} and {other!r} are both {spelling(value)!r} in the names of cases"
        problems.add(key, f"{text}: give one of them another name in the source, as by `using`")
