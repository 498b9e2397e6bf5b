"""What a difference looks like: the diagnosis, asked once something differs."""

from __future__ import annotations

from gpuregress.pipeline.pairs import Pair
from gpuregress.records import Comparison, Outcome


def explain(pair: Pair, comparison: Comparison, outcome: Outcome) -> Comparison:
    """The comparison with its findings, the strongest first; unchanged where nothing differs."""
    del pair, outcome
    return comparison
