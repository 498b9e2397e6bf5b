"""Combinations of a job's parameters, filtered by where, and the values of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpuregress.foundation.document.problems import Problems
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import ExpressionError, Value
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.resolve.scope import Scope

if TYPE_CHECKING:
    from gpuregress.toolchain.python_kernels.autotuning import Configuration
import re
from collections.abc import Set as AbstractSet

from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.escapes import one_line
from gpuregress.jobs.spec.models.values import PlainTextSpec

MAX_CASES = 100_000
MAX_COMBINATIONS = 5_000_000
MAX_NAME = 200


Tuning = Callable[[Mapping[str, Value]], Sequence["Configuration | None"]]
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
    for names, configuration in _kept(file, values, problems, tuning):
        if len(cases) == MAX_CASES:
            problems.add(("parameters",), f"make more than {MAX_CASES:,} cases: split the job, or say more in `where`")
            return ()
        cases.append(Scope(names, problems, case_text(names), configuration))
    if (
        not cases
        and problems.reported == before
        and not file.is_broken("parameters", "where")
        and not any(e.key.startswith("where") for e in problems.errors)
    ):
        problems.add(("where",), f"leaves none of the {count} combinations: the job has no case")
    longest = max((scope.case for scope in cases), key=len, default="")
    if len(longest) > MAX_NAME:
        problems.add(("parameters",), f"make a case name of {len(longest)} characters; the limit is {MAX_NAME}")
    return tuple(cases)


def case_text(names: Mapping[str, Value]) -> str:
    """Return `n=1000,real=float`, which is also the name of the case's folder."""
    return ",".join(f"{name}={spelling(value)}" for name, value in names.items())


def case_name(job: str, case: str) -> str:
    """Return `reduce/n=1000,tile=128`, or the job's name if it has no parameters."""
    return f"{job}/{case}" if case else job


def _kept(
    file: JobFile, values: Mapping[str, tuple[Value, ...]], problems: Problems, tuning: Tuning
) -> Iterator[tuple[dict[str, Value], Configuration | None]]:
    conditions = list(zip(file.positions("where"), file.job.where, strict=True))
    wrong: set[int] = set()
    plain = (dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values()))
    tuned = ((names, one) for names in plain for one in tuning(names))
    for of_job, configuration in tuned:
        names = {**of_job, **(configuration.parameters if configuration is not None else {})}
        keep = True
        for position, condition in conditions:
            if position in wrong:
                continue
            try:
                keep = keep and bool(expressions.evaluate(condition, names))
            except ExpressionError as error:
                wrong.add(position)
                problems.add(("where", position), f"{error}{f' (where {case_text(names)})' if names else ''}")
            if not keep:
                break
        if keep:
            yield names, configuration


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
    result: dict[str, tuple[Value, ...]] = {}
    before = len(problems)
    for name, choices in file.job.parameters.items():
        spelled: dict[str, Value] = {}
        known: set[tuple[bool, Value]] = set()
        kept: list[Value] = []
        for position, choice in enumerate(choices):
            key = ("parameters", name, position)
            try:
                value = _value(choice, file)
            except ExpressionError as error:
                problems.add(key, str(error))
                continue
            _check(value, spelled, known, key, problems)
            spelled.setdefault(spelling(value), value)
            known.add(_identity(value))
            kept.append(value)
        result[name] = tuple(kept)
    return None if len(problems) > before or file.is_broken("parameters") else result


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
    used = next((name for name in names if name in file.job.parameters), None)
    if used is not None:
        reason = f"{choice!r} uses the parameter {used!r}: a value is a constant; as text it is {{text: {choice}}}"
        raise ExpressionError(reason)
    if names:
        return choice
    value = expressions.evaluate_any(choice, {})
    return int(value) if isinstance(value, bool) and choice.strip() not in ("true", "false") else value


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
