"""Request for one comparison: buffer, element type, shape and rule."""

from __future__ import annotations

import math
from typing import Any

from msgspec import field

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.records import Comparison, Rule
from gpuregress.gpu.records import Record


class ComparisonRequest(Record):
    """A buffer to compare and the rule to compare it by.

    Attributes:
        buffer: its name.
        element_type: what both sides hold.
        shape: elements along each axis.
        rule: decides whether the sides are the same.
        against: the expected side: `baseline`, `reference`, `repeat`, `first` or `check`.
        case: argument of the user's `verify` function.
    """

    buffer: str
    element_type: ElementType
    shape: tuple[int, ...]
    rule: Rule = field(default_factory=Rule)
    against: str = "baseline"
    case: Any = None

    @property
    def total(self) -> int:
        """Elements in the buffer."""
        return math.prod(self.shape)

    def result(self, *, same: bool, rule: str, **facts: Any) -> Comparison:
        """A Comparison of this buffer; fields not given keep their defaults.

        Args:
            same: the verdict.
            rule: the rule in words.
            facts: further fields of `records.Comparison`.
        """
        facts.setdefault("identical", False)
        facts.setdefault("of", self.total)
        return Comparison(self.buffer, self.against, rule, same, **facts)
