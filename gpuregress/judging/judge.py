"""A case's outcome held against its baseline, its gold standards, its checks and its own repeats."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress import compare, dtypes, verdict
from gpuregress.errors import GpuregressError, HarnessError, Interrupted
from gpuregress.judging import drift_and_determinism, overwritten_inputs, user_code, write_coverage
from gpuregress.judging.accepted import Accepted, made_of
from gpuregress.judging.buffer_pairs import Pair
from gpuregress.judging.user_code import UserCode
from gpuregress.records import Baseline, Case, Check, Comparison, Dump, Outcome, Program, Rule, Verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(slots=True)
class Judge:
    """Judges outcomes.

    Args:
        accepted: the accepted dumps.
        rejected: digests of raw bytes that somebody rejected → who, when and why, in words.
        user: where the user's functions run; None: here.
    """

    accepted: Accepted
    rejected: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    user: UserCode | None = None

    def verdict(self, case: Case, program: Program | None, outcome: Outcome) -> Verdict:
        """The verdict on a case that a worker ran; an error while comparing is a verdict, too."""
        try:
            accepted = self.accepted.baseline(case)
            comparisons = self._comparisons(case, outcome, accepted) if outcome.state == "done" else {}
            for name, changed in overwritten_inputs.comparisons(case, program, outcome).items():
                comparisons.setdefault(name, []).append(changed)
            facts = made_of(case, outcome, program)
            decided = verdict.decide(case, outcome, accepted, comparisons, made_of=facts)
        except Interrupted:
            raise
        except GpuregressError as error:
            return dataclasses.replace(verdict.failed(case, error), outcome=outcome, seconds=outcome.seconds)
        except Exception as error:  # noqa: BLE001 - a bug while comparing one case must not lose the others
            return _bug(case, outcome, error)
        return self._with_rejections(_with_what_was_written(decided, case, outcome))

    def _with_rejections(self, decided: Verdict) -> Verdict:
        """The verdict, with a note for each buffer whose very bytes somebody has rejected before."""
        dumps = decided.outcome.dumps if decided.outcome is not None else ()
        digests = {dump.buffer: dump.digest for dump in dumps}
        known = [
            f"{buffer.name}: known to be bad: {said}"
            for buffer in decided.buffers
            if buffer.status == "differ"
            and (said := self.rejected.get((decided.case, buffer.name, digests.get(buffer.name, ""))))
        ]
        return dataclasses.replace(decided, notes=(*decided.notes, *known)) if known else decided

    def _comparisons(self, case: Case, outcome: Outcome, accepted: Baseline | None) -> dict[str, list[Comparison]]:
        dumps = {dump.buffer: dump for dump in outcome.dumps}
        found: dict[str, list[Comparison]] = {name: [] for name in dumps}
        for name, now in dumps.items():
            if accepted is not None and name in accepted.dumps:
                found[name].append(_against(case, "baseline", now, accepted.dumps[name], outcome, user=self.user))
                found[name] += drift_and_determinism.drift(case, now, accepted)
                found[name] += drift_and_determinism.determinism_of(case, now, accepted, outcome)
            known = (accepted.dumps[name], found[name][0]) if accepted is not None and found[name] else None
            found[name] += _references(case, now, outcome, self.user, known)
            found[name] += _checks(case, now, self.user)
            found[name] += _repeats(case, now, outcome, self.user)
        return found


def _with_what_was_written(decided: Verdict, case: Case, outcome: Outcome) -> Verdict:
    """A new case's verdict with what must be known before it is accepted, in its reason: there everybody reads it."""
    said = write_coverage.remarks(case, outcome) if decided.status == "new" else ()
    return dataclasses.replace(decided, reason="; ".join((decided.reason, *said))) if said else decided


def _bug(case: Case, outcome: Outcome, error: Exception) -> Verdict:
    said = HarnessError(f"an error inside gpuregress while comparing: {type(error).__name__}: {error}")
    observed = dataclasses.replace(outcome.observations, traceback=traceback.format_exc())
    outcome = dataclasses.replace(outcome, observations=observed)
    return dataclasses.replace(verdict.failed(case, said), outcome=outcome, seconds=outcome.seconds)


def _against(
    case: Case,
    against: str,
    now: Dump,
    then: Dump,
    outcome: Outcome,
    rule: Rule | None = None,
    user: UserCode | None = None,
    unrounded: Dump | None = None,
    twin: Comparison | None = None,
) -> Comparison:
    """One buffer against a dump.

    `unrounded` is the same before it was rounded, which decides; `twin` is what came of an equal dump.
    """
    pair = Pair(case, against, Path(now.path), now, Path(then.path), then, rule)
    meant = pair if unrounded is None else dataclasses.replace(pair, then_path=Path(unrounded.path), then=unrounded)
    if user is not None and pair.request.rule.verify:
        return user.compare(meant)
    if pair.is_identical and meant is pair:
        return pair.compare()
    compared = None if meant is pair else meant.compare()
    if compared is not None and (compared.same or pair.is_identical):
        return compared
    from gpuregress.judging import diagnosis  # noqa: PLC0415 - where something differs

    shown = dataclasses.replace(twin, against=against) if twin is not None else diagnosis.compare(pair, outcome)
    if compared is None:
        return shown
    drawn = {name: shown.numbers[name] for name in ("picture", "place") if name in shown.numbers}
    return dataclasses.replace(compared, findings=shown.findings, numbers={**compared.numbers, **drawn})


def _references(
    case: Case, now: Dump, outcome: Outcome, user: UserCode | None, known: tuple[Dump, Comparison] | None
) -> list[Comparison]:
    """What came of the buffer's reference; `known`: the baseline, and what came of that."""
    name = now.buffer
    if name not in (*case.reference, *case.reference_kernels):
        return []
    observed = outcome.observations
    if name not in observed.references:
        failed = observed.reference_errors.get(name, "was not computed, for another one failed")
        return [Comparison(name, "reference", "", same=False, identical=False, of=0, message=failed)]
    then, rule = observed.references[name], case.reference_rules.get(name, case.compare.get(name, Rule()))
    wide = observed.unrounded_references.get(name) if rule.ulp is None else None
    own = case.compare.get(name, Rule())
    is_twin = known is not None and rule == own and compare.is_in_order(rule) and _is_equal(then, known[0])
    twin = known[1] if known is not None and is_twin else None
    return [_against(case, "reference", now, then, outcome, rule, user, wide, twin)]


def _is_equal(first: Dump, second: Dump) -> bool:
    return (first.digest, first.dtype, first.shape) == (second.digest, second.dtype, second.shape)


def _checks(case: Case, now: Dump, user: UserCode | None) -> list[Comparison]:
    wanted = case.checks.get(now.buffer, ())
    return [
        user.check(one, case, now) if user is not None and user_code.needs(case, one) else check(case, now, one)
        for one in wanted
    ]


def check(case: Case, now: Dump, wanted: Check) -> Comparison:
    """One check of a dump.

    Raises:
        DumpError: it does not hold what its header says.
        StorageError: it cannot be read.
    """
    from gpuregress.compare import checks  # noqa: PLC0415 - loads numpy, which many runs do without
    from gpuregress.dump import reader  # noqa: PLC0415 - as above

    array, element = reader.read(Path(now.path)).array, dtypes.parse(now.dtype)
    return checks.run(wanted, array, element, _Inputs(case), buffer=now.buffer, shape=now.shape, case=case)


def _repeats(case: Case, now: Dump, outcome: Outcome, user: UserCode | None) -> list[Comparison]:
    """One comparison for all further runs: the first of them that is not the same, else the last."""
    digests = outcome.repeats.get(now.buffer, ())
    if not digests:
        return []
    paths = outcome.observations.repeat_dumps.get(now.buffer, {})
    for number, path in sorted(paths.items(), key=lambda entry: int(entry[0])):
        other = dataclasses.replace(now, path=path, digest=digests[int(number) - 2])
        compared = _against(case, "repeat", other, now, outcome, user=user)
        if not compared.same:
            said = compared.message or f"{compared.differing} of {compared.of} differ"
            which = f"run {number} of {len(digests) + 1}{_order(outcome, int(number))}"
            if outcome.observations.timing is not None and outcome.observations.timing.run == int(number):
                which = "the last run of the timing loop"
            message = f"{which} is not the first one: {said}"
            return [dataclasses.replace(compared, message=message)]
    found = len({now.digest, *digests})
    orders = outcome.observations.orders
    varied = f" ({'; '.join(orders)})" if orders else ""
    rule = f"{len(digests) + 1} runs{varied}, {found} different results, all the same under the buffer's rule"
    return [Comparison(now.buffer, "repeat", rule, same=True, identical=not paths, of=_count(now), message="")]


def _order(outcome: Outcome, number: int) -> str:
    """` (blocks random:1)`: the order of one of the runs, from 1; "" where none was chosen."""
    orders = outcome.observations.orders
    return f" ({orders[number - 1]})" if number <= len(orders) else ""


class _Inputs(Mapping[str, "npt.NDArray[np.generic]"]):
    """A case's filled buffers as they were before the first launch, each made when a check asks for it."""

    def __init__(self, case: Case) -> None:
        self._buffers = {name: buffer for name, buffer in case.buffers.items() if buffer.fill is not None}

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        from gpuregress import inputs  # noqa: PLC0415 - as above
        from gpuregress.dump import reader  # noqa: PLC0415 - as above

        return inputs.fill(self._buffers[name], read_dump=reader.read)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)


def _count(dump: Dump) -> int:
    count = 1
    for extent in dump.shape:
        count *= extent
    return count
