"""How tight a job's rules can be: its cases run again and again, on every device that is here, and what that shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, storage
from gpuregress.baselines import BaselineStore
from gpuregress.devices import registry
from gpuregress.dump import reader
from gpuregress.errors import GpuregressError, HarnessError, Interrupted, UsageError
from gpuregress.operations import rule_fitting
from gpuregress.operations.rule_fitting import Fit
from gpuregress.project import Project
from gpuregress.records import Outcome, Rule, Verdict
from gpuregress.session import session
from gpuregress.session.request import Machinery, RunRequest

Array = npt.NDArray[np.generic]
MOST_DISTINCT = 24
"""Distinct results of one buffer that are held against one another."""

CPU_ORDERS = ("reversed", *(f"random:{seed}" for seed in range(1, 7)))
"""The orders of blocks in which a case also runs on the CPU device: `devices.cpu.order`."""

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule for one buffer of a job.

    Attributes:
        buffer: its name.
        text: the rule as YAML; "" where it needs none, or none holds.
        holds: whether there is a rule under which all results are the same.
        distinct: how many different results there were, of the case with the most.
        evidence: why.
    """

    buffer: str
    text: str
    holds: bool
    distinct: int
    evidence: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """What came of it.

    Attributes:
        job: the job.
        cases: its cases.
        runs: of each case on each device.
        devices: where.
        baselines: accepted results that the rules hold against, too.
        proposals: a rule for each buffer.
        doubtful: cases whose runs agree with each other, and not with what another source gave and was accepted.
    """

    job: str
    cases: tuple[str, ...]
    runs: int
    devices: tuple[str, ...]
    baselines: int
    proposals: tuple[Proposal, ...]
    doubtful: tuple[str, ...] = ()

    def yaml(self) -> Iterator[str]:
        """Lines to paste into the job, with the evidence as comments."""
        cases = f"{len(self.cases)} case{'s' if len(self.cases) != 1 else ''}"
        with_baselines = f", and {self.baselines} accepted" if self.baselines else ""
        in_orders = f" and in {len(CPU_ORDERS)} other orders of the blocks" if "cpu" in self.devices else ""
        yield f"# {self.job}: {cases}, {self.runs} runs each on {', '.join(self.devices)}{in_orders}{with_baselines}"
        if self.doubtful:
            named = ", ".join(self.doubtful[:_MOST_NAMED]) + (", …" if len(self.doubtful) > _MOST_NAMED else "")
            yield f"# careful: the runs of {named} agree with each other; only what was accepted"
            yield "# of another source differs. A rule would hide that change: accept it first if it is meant."
        if not any(proposal.text for proposal in self.proposals):
            yield (
                "# no rule is needed"
                if all(proposal.holds for proposal in self.proposals)
                else "# no rule can be given"
            )
        else:
            yield "compare:"
        for proposal in self.proposals:
            results = f"{proposal.distinct} different result{'s' if proposal.distinct != 1 else ''}"
            rule = f"  {proposal.buffer}: {proposal.text}  # " if proposal.text else f"  # {proposal.buffer}: "
            yield f"{rule}{results}: {proposal.evidence}"


def calibrate(
    project: Project,
    selector: str,
    *,
    repeat: int,
    devices: Sequence[str] = (),
    machinery: Machinery | None = None,
) -> Calibration:
    """Runs a case, or all cases of a job, and proposes the tightest rules.

    Args:
        project: whose; nothing is left in its runs.
        selector: a case's name or a job's.
        repeat: runs of each case on each device.
        devices: which; none: all that are here and that the job runs on.
        machinery: for tests.

    Raises:
        UsageError: the selector means cases of several jobs.
        HarnessError: a case did not run to its end.
        Interrupted: ^C: what was seen until then is no evidence.
        GpuregressError: whatever `session.run` raises.
    """
    found: dict[tuple[str, str], dict[str, Path]] = {}
    types: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {}
    used, names, changed = [], dict[str, str](), set[str]()
    with storage.scratch(project.runs) as scratch:
        for number, (device, order) in enumerate(_ways(devices or registry.available())):
            place = dataclasses.replace(project, runs=scratch / str(number))
            request = RunRequest((selector,), device=device, jobs=1, repeat=1 if order else repeat, block_order=order)
            summary = session.run(place, request, machinery=machinery)
            if summary.interrupted:
                raise Interrupted("interrupted: a rule out of half of the runs would be no rule")
            verdicts = [one for one in summary.verdicts if one.status != "skip"]
            for verdict in verdicts:
                names[verdict.case] = verdict.job
                _gather(verdict, found, types)
                changed |= {verdict.case} if "source changed" in verdict.changes else set()
            used += [device] if verdicts and not order else []
        if len(set(names.values())) != 1:
            jobs = ", ".join(dict.fromkeys(names.values())) or "none that runs here"
            raise UsageError(f"{selector!r} means cases of several jobs: one job has one rule a buffer ({jobs})")
        agreeing = {case for case in changed if all(len(found[key]) == 1 for key in found if key[0] == case)}
        accepted = _add_baselines(BaselineStore(project.baselines), found, types)
        proposals = tuple(_proposals(found, types))
    return Calibration(
        next(iter(names.values())), tuple(names), repeat, tuple(used), accepted, proposals, tuple(sorted(agreeing))
    )


def _ways(devices: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each device with the orders of blocks to run in: blocks at random say more than repeats do."""
    for device in devices:
        yield device, ""
        if device == "cpu":
            yield from ((device, order) for order in CPU_ORDERS)


def _gather(
    verdict: Verdict,
    found: dict[tuple[str, str], dict[str, Path]],
    types: dict[tuple[str, str], tuple[str, tuple[int, ...]]],
) -> None:
    outcome = verdict.outcome
    if outcome is None or outcome.state != "done":
        raise HarnessError(f"{verdict.case} cannot be calibrated, it ended with {verdict.status}: {verdict.reason}")
    for dump in outcome.dumps:
        key = (verdict.case, dump.buffer)
        types.setdefault(key, (dump.dtype, dump.shape))
        results = found.setdefault(key, {})
        results.setdefault(dump.digest, Path(dump.path))
        for digest, path in _repeats(outcome, dump.buffer):
            results.setdefault(digest, path)


def _repeats(outcome: Outcome, buffer: str) -> Iterator[tuple[str, Path]]:
    paths = outcome.observations.repeat_dumps.get(buffer, {})
    for number, path in paths.items():
        yield outcome.repeats[buffer][int(number) - 2], Path(path)


def _add_baselines(
    store: BaselineStore,
    found: dict[tuple[str, str], dict[str, Path]],
    types: Mapping[tuple[str, str], tuple[str, tuple[int, ...]]],
) -> int:
    """The accepted results too, where there are any: a rule must hold against them."""
    added = 0
    for case in dict.fromkeys(case for case, _ in found):
        try:
            accepted = store.load(case)
        except GpuregressError:
            continue  # a damaged baseline is no evidence; `run` says what is wrong with it
        for buffer, dump in accepted.dumps.items() if accepted else ():
            if types.get((case, buffer)) == (dump.dtype, dump.shape):
                found[case, buffer].setdefault(dump.digest, Path(dump.path))
                added += 1
    return added


def _proposals(
    found: Mapping[tuple[str, str], Mapping[str, Path]],
    types: Mapping[tuple[str, str], tuple[str, tuple[int, ...]]],
) -> Iterator[Proposal]:
    for buffer in dict.fromkeys(buffer for _, buffer in found):
        fits = []
        most = 0
        for (case, name), results in found.items():
            if name == buffer:
                dtype, shape = types[case, name]
                arrays: list[Array] = [reader.read(path).array for path in list(results.values())[:MOST_DISTINCT]]
                fits.append(rule_fitting.fit(dtypes.parse(dtype), shape, arrays))
                most = max(most, len(results))
        worst = max(fits, key=_looseness)
        yield Proposal(buffer, worst.text, worst.rule is not None, most, worst.evidence)


def _looseness(fit: Fit) -> tuple[int, float]:
    """Orders rules of one buffer: every bit, any order, steps, relative, absolute, none."""
    rule = fit.rule
    if rule is None:
        return 5, 0.0
    if rule == Rule():
        return 0, 0.0
    if rule.ulp is not None:
        return 2, float(rule.ulp)
    return (4, rule.atol) if rule.atol else ((3, rule.rtol) if rule.rtol else (1, 0.0))
