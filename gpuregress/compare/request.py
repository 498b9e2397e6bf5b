"""What to compare: one buffer, its element type and shape, and the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuregress.dtypes import ElementType
from gpuregress.records import Comparison, Rule


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """One buffer to compare.

    Attributes:
        buffer: its name.
        element_type: what both sides hold.
        shape: elements along each axis.
        rule: what "the same" means.
        against: `baseline`, `reference`, `verify` or `repeat`.
        case: handed to the user's `verify` function.
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
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    def result(self, *, same: bool, rule: str, numbers: Mapping[str, Any] | None = None, **facts: Any) -> Comparison:
        """A Comparison of this buffer; what `facts` does not say keeps its default.

        Args:
            same: the verdict.
            rule: the rule in words.
            numbers: further figures.
            facts: further fields of `records.Comparison`.
        """
        facts.setdefault("identical", False)
        facts.setdefault("of", self.total)
        return Comparison(self.buffer, self.against, rule, same, numbers=dict(numbers or {}), **facts)
