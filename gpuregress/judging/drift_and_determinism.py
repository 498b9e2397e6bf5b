"""What a baseline remembers besides its dumps: the first one ever accepted, and how deterministic the case was."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpuregress.judging.buffer_pairs import Pair
from gpuregress.records import Baseline, Case, Comparison, Dump, Outcome, Rule

if TYPE_CHECKING:
    from gpuregress.records import Determinism


def is_watched(rule: Rule) -> bool:
    """Whether a buffer can drift under its rule: whether one accept after another may each be a little off."""
    bounded = rule.rtol is not None or rule.atol is not None or rule.ulp is not None or rule.outliers or rule.metric
    return bool(bounded)


def drift(case: Case, now: Dump, accepted: Baseline) -> list[Comparison]:
    """A buffer against the first baseline ever accepted, under the job's rule; [] where that is the accepted one.

    Args:
        case: what was run.
        now: the buffer's dump.
        accepted: the baseline it was compared with.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    first, last = accepted.first.get(now.buffer), accepted.dumps.get(now.buffer)
    if first is None or last is None or first.digest == last.digest or not is_watched(_rule(case, now.buffer)):
        return []
    compared = Pair(case, "first", Path(now.path), now, Path(first.path), first).compare()
    if compared.same:
        return [compared]
    said = compared.message or f"{compared.differing} of {compared.of} differ"
    revision = Path(first.path).name.removeprefix(f"{now.buffer}.")
    message = f"{said} from the first one accepted, revision {revision}: small changes have added up"
    return [dataclasses.replace(compared, message=message)]


def determinism_of(case: Case, now: Dump, accepted: Baseline, outcome: Outcome) -> list[Comparison]:
    """How far the case's own runs agree, against what the baseline says of them; [] where one of the two is not known.

    Args:
        case: what was run, more than once.
        now: the buffer's dump.
        accepted: the baseline.
        outcome: what the worker says of the runs.
    """
    expected = accepted.made_of.determinism.get(now.buffer)
    found = outcome.observations.determinism.get(now.buffer)
    if expected is None or found is None:
        return []
    from gpuregress.compare import determinism  # noqa: PLC0415 - loads numpy, and few cases are run again

    before = determinism.Seen(cast("Determinism", expected), accepted.made_of.orders)
    after = determinism.Seen(found, outcome.observations.orders)
    return [determinism.compare(now.buffer, before, after, case.repeat, math.prod(now.shape))]


def _rule(case: Case, buffer: str) -> Rule:
    return case.compare.get(buffer, Rule())
