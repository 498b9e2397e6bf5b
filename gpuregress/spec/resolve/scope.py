"""Evaluation of expressions for one case, with errors reported at their keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gpuregress.document.problems import Problems
from gpuregress.document.reader import Key
from gpuregress.spec import expressions
from gpuregress.spec.expressions import ExpressionError, Number


@dataclass(frozen=True, slots=True)
class Scope:
    """The values of names in one case.

    Attributes:
        names: parameter → number.
        problems: collects the errors.
        case: `n=1000,tile=128`, for messages; "" where there are no parameters.
    """

    names: Mapping[str, Number]
    problems: Problems
    case: str = ""

    def with_step(self, step: int) -> Scope:
        """Return the scope of one step of a repeated launch."""
        return Scope({**self.names, "step": step}, self.problems, self.case)

    def error(self, key: Key, message: str, *values: float | str) -> None:
        """Report an error.

        Args:
            key: where it is.
            message: what is wrong.
            values: what it comes from; where one of them has a parameter in it, the message says in which case.
        """
        names = {name for value in values if isinstance(value, str) for name in expressions.names_in(value)}
        self.problems.add(key, f"{message} (in case {self.case})" if self.case and names & {*self.names} else message)

    def number(self, value: float | str, key: Key) -> Number | None:
        """Evaluate an expression; None if it is invalid, which is reported."""
        try:
            return expressions.evaluate(value, self.names)
        except ExpressionError as error:
            self.error(key, str(error), value)
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
