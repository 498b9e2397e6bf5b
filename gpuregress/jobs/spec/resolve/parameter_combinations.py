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
from gpuregress.foundation.records.cases import independent_of
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import ExpressionError, Value
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.values import PlainTextSpec
from gpuregress.jobs.spec.overrides import ParameterOverride
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
    before = problems.reported
    cases = _combined(file, values, problems, tuning)
    is_where_valid = not any(error.key.startswith("where") for error in problems.errors)
    if not cases and problems.reported == before and is_where_valid and not file.is_broken("parameters", "where"):
        count = math.prod(len(choices) for choices in values.values())
        problems.add(("where",), f"leaves none of the {count} combinations: the job has no case")
    return cases


def _combined(
    file: JobFile, values: Mapping[str, tuple[Value, ...]], problems: Problems, tuning: Tuning
) -> tuple[Scope, ...]:
    """The scopes of all combinations that `where` keeps; none where they are too many, which is reported."""
    count = math.prod(len(choices) for choices in values.values())
    if count > MAX_COMBINATIONS:
        problems.add(("parameters",), f"make {count:,} combinations: at most {MAX_COMBINATIONS:,} are tried")
        return ()
    cases: list[Scope] = []
    for names, configuration in _selected(file, values, problems, tuning):
        if len(cases) == MAX_CASES:
            problems.add(("parameters",), f"make more than {MAX_CASES:,} cases: split the job, or say more in `where`")
            return ()
        cases.append(Scope(names, problems, case_text(names), configuration))
    longest = max((len(scope.case) for scope in cases), default=0)
    if longest > MAX_NAME:
        problems.add(("parameters",), f"make a case name of {longest} characters; the limit is {MAX_NAME}")
    return tuple(cases)


class OverriddenScopes(Record):
    """The scopes of a job some of whose parameters have other values.

    Attributes:
        scopes: one for each case; `Scope.overridden` is empty for those that are cases of the job as it is.
        partners: for each group of overridden cases, cases of the job with which `agree` can compare them.
        notes: which of the values make no case.
    """

    scopes: tuple[Scope, ...]
    partners: tuple[tuple[Scope, ...], ...] = ()
    notes: tuple[str, ...] = ()


def overridden_scopes(
    file: JobFile,
    own: Sequence[Scope],
    overrides: Sequence[ParameterOverride],
    problems: Problems,
    tuning: Tuning = lambda _names: [None],
) -> OverriddenScopes:
    """Return the scopes of a job with values of the command line in place of its own.

    Args:
        file: the job, which has all of these parameters.
        own: the scopes of the job as it is.
        overrides: the parameters with their values.
        problems: collects the errors.
        tuning: see `scopes`.
    """
    values = parameter_values(file, problems)
    if values is None:
        return OverriddenScopes(())
    before = problems.reported
    changed = dict(values)
    for override in overrides:
        name, option = override.name, f"--set {override.text}: "
        changed[name] = _evaluated(file, override.values, problems, name, option, values[name])
    if problems.reported > before:
        return OverriddenScopes(())
    names = [override.name for override in overrides]
    known = {name: {_identity(value) for value in choices} for name, choices in values.items()}
    scopes: list[Scope] = []
    for scope in _combined(file, changed, problems, tuning):
        others = tuple(name for name in names if _identity(scope.names[name]) not in known[name])
        scopes.append(replace(scope, overridden=others))
    notes: list[str] = []
    if problems.reported == before:
        notes = [note for override in overrides for note in _values_left_out(file, override.name, changed, scopes)]
    return OverriddenScopes(tuple(scopes), _partners(file.job.agree or (), own, scopes), tuple(notes))


def _values_left_out(
    file: JobFile, name: str, values: Mapping[str, tuple[Value, ...]], scopes: Sequence[Scope]
) -> Iterator[str]:
    """Say which values of an overridden parameter make no case, and which condition of `where` they break."""
    used = {_identity(scope.names[name]) for scope in scopes}
    for value in values[name]:
        if _identity(value) in used:
            continue
        names = {other: choices[0] for other, choices in values.items()}
        names[name] = value
        demand = "`where` keeps none of its combinations"
        for condition in file.job.where:
            if _is_broken(condition, names):
                demand = f"`where` demands {condition}"
                break
        yield f"--set {name}={spelling(value)} makes no case: {demand}"


def _is_broken(condition: float | str, names: Mapping[str, Value]) -> bool:
    """Whether values break a condition; one that takes further names, as an autotuner's, is not known."""
    try:
        return not expressions.evaluate(condition, names)
    except ExpressionError:
        return False


def _partners(agree: Sequence[str], own: Sequence[Scope], scopes: Sequence[Scope]) -> tuple[tuple[Scope, ...], ...]:
    """The job's own cases for each group of overridden ones that has none of the job's own."""
    groups: dict[tuple[str, ...], bool] = {}
    for scope in scopes:
        if set(scope.overridden) <= set(agree):
            group = independent_of(agree, scope.names)
            groups[group] = groups.get(group, False) or not scope.overridden
    partners: dict[tuple[str, ...], list[Scope]] = {}
    for scope in own:
        group = independent_of(agree, scope.names)
        if groups.get(group) is False:
            partners.setdefault(group, []).append(replace(scope, is_partner=True))
    return tuple(tuple(members) for members in partners.values())


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
        values[name] = _evaluated(file, choices, problems, name)
    return None if len(problems) > before or file.is_broken("parameters") else values


def _evaluated(
    file: JobFile,
    choices: Sequence[float | str | PlainTextSpec],
    problems: Problems,
    name: str,
    option: str = "",
    own: Sequence[Value] = (),
) -> tuple[Value, ...]:
    """Evaluate the values of a parameter.

    Args:
        file: the job.
        choices: the values as they are written.
        problems: collects the errors.
        name: of the parameter.
        option: the option of the command line that has them, for messages; "": the job has them.
        own: the job's values; one of the option that the job has is the job's own, so that its case has one name.
    """
    known = {_identity(value): value for value in own}
    spelled = {spelling(value): value for value in own}
    values: dict[tuple[bool, Value], Value] = {}
    for position, choice in enumerate(choices):
        key: Key = ("parameters", name) if option else ("parameters", name, position)
        try:
            value = _value(choice, file)
        except ExpressionError as error:
            problems.add(key, f"{option}{error}")
            continue
        identity = _identity(value)
        problem = _value_problem(value, {} if identity in known else spelled, values.keys())
        if problem:
            problems.add(key, f"{option}{problem}")
        values[identity] = known.get(identity, value)
        spelled.setdefault(spelling(value), value)
    return tuple(values.values())


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


def _value_problem(value: Value, spelled: Mapping[str, Value], known: AbstractSet[tuple[bool, Value]]) -> str:
    """Explain a value that is there already, or whose cases would have the name of another's; "" for a valid one."""
    if isinstance(value, str) and one_line(value) != value:
        return f"{value!r} holds a control character"
    if _identity(value) in known:
        return f"duplicate value {value!r}"
    if spelling(value) in spelled:
        other = spelled[spelling(value)]
        text = f"{value!r} and {other!r} are both {spelling(value)!r} in the names of cases"
        return f"{text}: give one of them another name in the source, for example by `using`"
    return ""
