"""Evaluation of expressions for one case, with errors reported at their keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key, dotted
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec import expressions, templates
from gpuregress.jobs.spec.expressions import ExpressionError, Number, Value

if TYPE_CHECKING:
    from gpuregress.toolchain.python_kernels.autotuning import Configuration


class Scope(Record):
    """The values of names in one case.

    Attributes:
        names: parameter → value; also `seed`, once it is known, and `step` in a repeated launch.
        problems: collects the errors.
        case: `n=1000,tile=128`, for messages; "" where there are no parameters.
        added: names that are no parameters.
        tuning: the configuration of an autotuned kernel, whose values are among the names; None: there is none.
        refusals: collects what is over a device's limits, where that is no error of the job; None: it is one.
    """

    names: Mapping[str, Value]
    problems: Problems
    case: str = ""
    tuning: Configuration | None = None
    refusals: list[str] | None = None
    added: frozenset[str] = frozenset()

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
        texts = [value for value in values if isinstance(value, str)]
        names = {name for text in texts for name in (*expressions.names_in(text), *templates.names_in(text))}
        self.problems.add(key, f"{message} (in case {self.case})" if self.case and names & {*self.names} else message)

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

    def real(
        self, value: float | str, key: Key, *, low: float = -math.inf, above: bool = False, high: float = math.inf
    ) -> float | None:
        """Evaluate an expression to a float within bounds; None if it is invalid, which is reported."""
        number = self.number(value, key)
        if number is None:
            return None
        if number < low or (above and number == low) or number > high:
            bounds = f"{'above' if above else 'at least'} {low:g}" if math.isfinite(low) else ""
            bounds += (" and " if bounds else "") + f"at most {high:g}" if math.isfinite(high) else ""
            self.error(key, f"{shown(value, number)}: it must be {bounds}", value)
            return None
        return float(number)


def shown(value: float | str, number: Number) -> str:
    """Quote a value in a message: `'n / tile' is 0`, or `is 0` for a plain number."""
    return f"{value!r} is {number}" if isinstance(value, str) and value != str(number) else f"is {number}"
