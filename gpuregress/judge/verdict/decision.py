"""Decision of the verdict on a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuregress.foundation import errors
from gpuregress.foundation.errors import INFEASIBLE, CompileError, GpuregressError, KernelTimeout, public_name
from gpuregress.foundation.records import (
    Baseline,
    BufferVerdict,
    Case,
    Comparison,
    CostComparison,
    Dump,
    Fault,
    Launch,
    MadeOf,
    Outcome,
    ResourceLimits,
    SourceLocation,
    Status,
    TimingComparison,
    Verdict,
    side_text,
)
from gpuregress.gpu.records import Record, replace
from gpuregress.judge.verdict.provenance import changed_inputs, changed_resources, changes, without_reference_inputs

EXIT_CODES: dict[Status, int] = {"pass": 0, "differ": 1, "new": 1, "fault": 3, "timeout": 3, "error": 4, "skip": 0}
_USERS = errors.CompileError.exit_code
EXIT_PRECEDENCE = (4, 3, 2, 1, 5, 0)
"""Exit codes, the most severe first."""


def exit_code(verdicts: Iterable[Verdict], *, vanished: bool = False, has_lost_device: bool = False) -> int:
    """The run's exit code: the most severe of its cases'; 5 where nothing was run.

    Args:
        verdicts: on its cases.
        vanished: whether a case is missing, had no turn or was held back, which counts as 1.
        has_lost_device: whether a device is gone, which counts as 4.
    """
    ran = [verdict for verdict in verdicts if verdict.status != "skip" or verdict.known is not None]
    codes = {verdict.exit_code for verdict in ran} or {5}
    codes |= {1} if vanished else set()
    codes |= {EXIT_CODES["error"]} if has_lost_device else set()
    return next((code for code in EXIT_PRECEDENCE if code in codes), max(codes))


def exit_code_of(status: Status, outcome: Outcome) -> int:
    """The status's; 3 where the user's own code could not be run, as for a kernel that the device cannot compile."""
    kind = getattr(errors, outcome.observations.error, None) if status == "error" else None
    is_users = kind is not None and issubclass(kind, errors.GpuregressError) and kind.exit_code == _USERS
    return _USERS if is_users else EXIT_CODES[status]


def fault_line(outcome: Outcome) -> str:
    """Describe the fault that ended a case, with the number of its launch."""
    fault = outcome.fault or Fault(outcome.state, outcome.message or "no more is known")
    where = "" if fault.launch is None else f" (launch {fault.launch})"
    return f"{fault.kind}: {fault.message}{where}"


def headline(text: str) -> list[str]:
    """The lines of a message; a first one that ends with a colon is joined with the second one."""
    first, *more = text.splitlines() or [""]
    return [f"{first} {more[0].strip()}", *more[1:]] if more and first.endswith(":") else [first, *more]


def first_line(text: str) -> str:
    """Return the first line of a text, "" if it is empty."""
    return text.splitlines()[0] if text else ""


_EXPECTED_SIDES = ("baseline", "reference", "twin", "verify", "agree")


def buffer_verdicts(
    case: Case, outcome: Outcome, baseline: Baseline | None, comparisons: Mapping[str, Sequence[Comparison]]
) -> tuple[BufferVerdict, ...]:
    """Return the verdicts on all buffers that the job dumps, compares or has accepted.

    Args:
        case: the case.
        outcome: as its worker reports it.
        baseline: the accepted dumps, None without any.
        comparisons: buffer → its comparisons.
    """
    dumps = {dump.buffer: dump.path for dump in outcome.dumps}
    accepted = {name: dump.path for name, dump in baseline.dumps.items()} if baseline else {}
    names = dict.fromkeys((*case.dump, *comparisons))
    gone = tuple(_gone(dump) for name, dump in baseline.dumps.items() if name not in names) if baseline else ()
    return gone + tuple(
        BufferVerdict(
            name,
            buffer_status(comparisons.get(name, ())),
            dumps.get(name, ""),
            accepted.get(name, ""),
            tuple(comparisons.get(name, ())),
        )
        for name in names
    )


def _gone(accepted: Dump) -> BufferVerdict:
    """The verdict on an accepted buffer that the job no longer dumps."""
    message = "its baseline is there, and the job no longer dumps it"
    of = accepted.count
    compared = Comparison(accepted.buffer, "baseline", "", same=False, identical=False, of=of, message=message)
    return BufferVerdict(accepted.buffer, "differ", "", accepted.path, (compared,))


def buffer_status(comparisons: Sequence[Comparison]) -> Status:
    """The status of a buffer; `new` if only checks and repeats were compared."""
    if any(not comparison.same for comparison in comparisons):
        return "differ"
    return "pass" if any(comparison.against in _EXPECTED_SIDES for comparison in comparisons) else "new"


def joint_status(buffers: Sequence[BufferVerdict], *, has_baseline: bool) -> tuple[Status, str]:
    """Return the status that buffers give their case, and its reason, "" for a pass."""
    differing = [buffer for buffer in buffers if buffer.status == "differ"]
    if differing:
        more = f"; and {len(differing) - 1} more" if len(differing) > 1 else ""
        return "differ", f"{differing[0].name}: {_what(differing[0])}{more}"
    new = [buffer.name for buffer in buffers if buffer.status == "new"]
    if new:
        passed = [buffer for buffer in buffers if buffer.status == "pass"]
        named = f"{', '.join(new)}: " if has_baseline or passed else ""
        return "new", "; ".join((f"{named}no baseline yet", *(f"{one.name}: {_as(one)}" for one in passed)))
    if not buffers:
        return "new", "nothing is dumped, so nothing can be compared"
    return "pass", ""


def _as(buffer: BufferVerdict) -> str:
    """`as its baseline and its reference`."""
    return "as " + " and ".join(side_text(name) for name in expected_sides([buffer]))


def _what(buffer: BufferVerdict) -> str:
    failing = next(comparison for comparison in buffer.comparisons if not comparison.same)
    named = {"baseline": "", "first": "drift: "}
    against = named.get(failing.against, f"{failing.against}: ")
    return against + failing.difference


def is_of_old_results(buffers: Sequence[BufferVerdict]) -> bool:
    """Whether all failures are differences from accepted results, which changed inputs explain."""
    failing = [(one, comparison) for one in buffers for comparison in one.comparisons if not comparison.same]
    return all(one.dump and comparison.against in ("baseline", "first") for one, comparison in failing)


def tolerance_share(buffers: Sequence[BufferVerdict]) -> float | None:
    """The largest use of a tolerance by any buffer."""
    shares = (comparison.tolerance_share for buffer in buffers for comparison in buffer.comparisons)
    return max((share for share in shares if share is not None), default=None)


def expected_sides(buffers: Sequence[BufferVerdict]) -> tuple[str, ...]:
    """The expected sides of all comparisons, of baseline, reference and verify."""
    sides = {comparison.against for buffer in buffers for comparison in buffer.comparisons}
    return tuple(name for name in _EXPECTED_SIDES if name in sides)


# A GPU's names of faults that the CPU device determines more exactly.
_GPU_NAMES = {
    "out-of-bounds": ("illegal-access", "red-zone"),
    "deadlock": ("timeout",),
    "barrier": ("timeout",),
}
# The name that the check of barriers has for faults that other runs name after what they lead to.
_CHECKED_NAMES = {"deadlock": "barrier", "illegal-instruction": "barrier"}


def decide(
    case: Case,
    outcome: Outcome,
    baseline: Baseline | None,
    comparisons: Mapping[str, Sequence[Comparison]],
    *,
    made_of: MadeOf | None = None,
    timing: TimingComparison | None = None,
    costs: Sequence[CostComparison] = (),
) -> Verdict:
    """Decide the verdict on a case that a worker ran.

    Args:
        case: the case.
        outcome: as its worker reports it.
        baseline: the accepted dumps, None without any.
        comparisons: buffer → its comparisons with baseline, reference, checks, the user's verify, repeats.
        made_of: the run's provenance, to list what else changed since the baseline.
        timing: its times compared with the accepted ones.
        costs: its costs compared with the accepted ones.
    """
    ended = _ended_early(case, outcome, baseline)
    if ended is not None:
        return ended
    buffers = buffer_verdicts(case, outcome, baseline, comparisons)
    if baseline is not None and made_of is not None:
        accepted, made_of = (without_reference_inputs(case, facts) for facts in (baseline.made_of, made_of))
        baseline = replace(baseline, made_of=accepted)
    ruling, others = _decisive(
        [
            _ruling_of_buffers(case, buffers, baseline, made_of),
            *(Ruling("differ", line, ("pass", "new")) for line in over_limits(case, outcome)),
            *(Ruling("differ", one.message) for one in (timing,) if one is not None and one.fails),
            *(Ruling("differ", one.message) for one in costs if one.fails),
            *_rulings_of_twins(outcome, baseline),
        ]
    )
    decided = _verdict(
        case,
        outcome,
        ruling.status,
        ruling.reason,
        baseline=baseline,
        buffers=buffers,
        changes=_changes(baseline, made_of, is_pass=ruling.status == "pass"),
        notes=(*_notes(baseline), *(other.reason for other in others), *_twin_notes(outcome)),
    )
    if costs:
        decided = replace(decided, costs=tuple(costs))
    is_told = baseline is not None or ruling.status != "new"  # a new case says already that nothing was compared
    if timing is not None and is_told:
        decided = replace(decided, timing=timing)
    return decided


def _ended_early(case: Case, outcome: Outcome, baseline: Baseline | None) -> Verdict | None:
    """The verdict on a case whose results are not compared; None where they are."""
    is_error = outcome.state == "error"
    if is_error and case.settings.infeasible and outcome.observations.error in INFEASIBLE:
        return infeasible(case, outcome.message, baseline, outcome)
    if case.expect_fault is not None:
        return _expected_fault(case, outcome, case.expect_fault, baseline)
    if is_error:
        details = outcome.observations.details  # the last output of a worker that died
        first, *more = headline(outcome.message or "could not be run")
        return _verdict(case, outcome, "error", first, baseline=baseline, notes=(*more, *details))
    if outcome.fault is not None or outcome.state != "done":
        status: Status = "timeout" if outcome.state == "timeout" else "fault"
        return _verdict(case, outcome, status, fault_line(outcome), baseline=baseline)
    return None


# --- rulings ----------------------------------------------------------------------------------------------------------


class Ruling(Record):
    """What one side of a case says of its verdict.

    Attributes:
        status: that it gives.
        reason: why, one line.
        overrules: the statuses of rulings of a higher rank that it replaces; beside others it is a note.
    """

    status: Status
    reason: str
    overrules: tuple[Status, ...] = ("pass",)


def _decisive(rulings: Sequence[Ruling]) -> tuple[Ruling, list[Ruling]]:
    """Return the ruling that decides, and those that are notes beside it.

    Args:
        rulings: by rank, the highest first: the buffers, resources, time, costs, twins. The first one that fails
            decides; where none does, it is the first.
    """
    decisive, *lower = rulings
    notes = []
    for ruling in lower:
        if decisive.status in ruling.overrules:
            decisive = ruling
        else:
            notes.append(ruling)
    return decisive, notes


def _ruling_of_buffers(
    case: Case, buffers: Sequence[BufferVerdict], baseline: Baseline | None, made_of: MadeOf | None
) -> Ruling:
    watched = case.settings.instruments.checks
    if watched and not buffers:  # the dynamic checks are all that the job asks for
        return Ruling("pass", f"no finding of {', '.join(watched)}")
    if not (case.buffers or case.dump or buffers):
        return Ruling("pass", "ran to its end; the job has no buffers to compare")
    status, reason = joint_status(buffers, has_baseline=baseline is not None)
    is_old = status == "differ" and is_of_old_results(buffers)
    if is_old and baseline is not None and made_of is not None and changed_inputs(baseline.made_of, made_of):
        reason = f"changed inputs, not a regression: {reason}"
    return Ruling(status, reason)


def _rulings_of_twins(outcome: Outcome, baseline: Baseline | None) -> list[Ruling]:
    """Say which twins this machine could not run: a case that nothing else decides is skipped."""
    lacking = [twin for twin in outcome.observations.along("twin") if twin.left_out]
    if not lacking:
        return []
    reason = "; ".join(f"not compared with {twin.name}: {twin.left_out}" for twin in lacking)
    return [Ruling("skip", reason, ("pass", "new") if baseline is None else ("pass",))]


def _changes(baseline: Baseline | None, made_of: MadeOf | None, *, is_pass: bool) -> tuple[str, ...]:
    """The lines on what changed since the baseline; of a case that passes only its name and its resources."""
    renamed = _renamed(baseline)
    if baseline is None or made_of is None:
        return renamed
    if is_pass:
        return (*renamed, *changed_resources(baseline.made_of, made_of))
    return (*renamed, *changes(baseline.made_of, made_of))


def failed(case: Case, error: GpuregressError) -> Verdict:
    """The verdict on a case that could not be run or compared: a compile error, a damaged baseline."""
    first, *rest = str(error).splitlines() or [""]
    kind = public_name(error)
    if isinstance(error, KernelTimeout):
        return _without_buffers(case, "timeout", first, exit_code=3, error=kind)
    code = error.exit_code if error.exit_code == CompileError.exit_code else EXIT_CODES["error"]
    return _without_buffers(case, "error", first, notes=tuple(rest), exit_code=code, error=kind)


def _without_buffers(case: Case, status: Status, reason: str, **facts: Any) -> Verdict:
    """A verdict that no buffer decided.

    Args:
        case: the case.
        status: its status.
        reason: one line.
        facts: further fields of the verdict.
    """
    return Verdict(case.job, case.name, status, reason, case.revision, parameters=case.parameters, **facts)


def broken(
    job: str,
    errors: Sequence[str],
    case: Case | None = None,
    *,
    exit_code: int = EXIT_CODES["error"],
    location: SourceLocation | None = None,
) -> Verdict:
    """The verdict on a job with errors, or on a case with errors.

    Args:
        job: its name.
        errors: at least one line, each with file, line and key.
        case: None: the whole job.
        exit_code: of the verdict.
        location: of the first error.
    """
    first, notes = first_line(errors[0]), tuple(errors[1:])
    if case is None:
        return Verdict(job, job, "error", first, notes=notes, exit_code=exit_code, location=location)
    return _without_buffers(case, "error", first, notes=notes, exit_code=exit_code, location=location)


def skipped(case: Case, reason: str) -> Verdict:
    """The verdict on a case that was not run."""
    return _without_buffers(case, "skip", reason)


def infeasible(case: Case, reason: str, baseline: Baseline | None, outcome: Outcome | None = None) -> Verdict:
    """The verdict on a case that the compiler or the device refuses: a skip, unless it has a baseline: it ran before.

    Args:
        case: of a job with `infeasible: skip`.
        reason: the refusal; its first line is enough.
        baseline: the accepted dumps, None without any.
        outcome: as its worker reports it, None if it did not run.
    """
    text = f"infeasible: {headline(reason)[0]}"
    if baseline is None:
        return _without_buffers(case, "skip", text, outcome=outcome, infeasible=True)
    advice = f"it ran when {baseline.revision} was accepted; delete its folder {case.name} in baselines/ to skip it"
    return _without_buffers(
        case,
        "error",
        text,
        baseline_revision=baseline.revision,
        notes=(advice,),
        exit_code=EXIT_CODES["error"],
        outcome=outcome,
    )


# --- faults -----------------------------------------------------------------------------------------------------------


def _expected_fault(case: Case, outcome: Outcome, expected: str, baseline: Baseline | None) -> Verdict:
    actual = _kind(outcome)
    notes = () if baseline is None else ("there is a baseline, and a job that expects a fault is not compared with it",)
    if actual is None:
        if outcome.state == "error":
            return _verdict(case, outcome, "error", outcome.message or "could not be run", notes=notes)
        return _verdict(
            case, outcome, "differ", f"expected to fail with {expected}, but it ran to its end", notes=notes
        )
    is_kind = is_fault_kind(outcome, expected)
    position = outcome.fault.position if outcome.fault is not None else None
    launch = case.launches[position] if position is not None else None
    if is_kind and launch is not None and _is_expected_place(case, launch):
        return _verdict(case, outcome, "pass", f"failed as expected: {fault_line(outcome)}", notes=notes)
    where = _expected_place(case)
    if is_kind and launch is None:
        where = where or " in a launch of the case"
    status: Status = "timeout" if actual == "timeout" else "fault"
    return _verdict(case, outcome, status, f"expected {expected}{where}, but: {fault_line(outcome)}", notes=notes)


def is_fault_kind(outcome: Outcome, expected: str) -> bool:
    """Whether a case ended with a fault of a kind, under the name that its device or its checks have for it."""
    actual = _kind(outcome)
    is_gpu = outcome.device is not None and outcome.device.name.startswith("cuda")
    return actual in (expected, _CHECKED_NAMES.get(expected)) or (is_gpu and actual in _GPU_NAMES.get(expected, ()))


def _is_expected_place(case: Case, launch: Launch) -> bool:
    return case.expect_kernel in ("", launch.kernel) and case.expect_launch in (None, launch.origin)


def _expected_place(case: Case) -> str:
    of = f" of {case.expect_kernel}" if case.expect_kernel else ""
    at = f" in launch {case.expect_launch + 1}" if case.expect_launch is not None else ""
    return of + at


def _kind(outcome: Outcome) -> str | None:
    """The kind of fault that ended a case, None without a fault."""
    if outcome.fault is not None:
        return outcome.fault.kind
    return outcome.state if outcome.state in ("fault", "timeout") else None


# --- buffers ----------------------------------------------------------------------------------------------------------


def _twin_notes(outcome: Outcome) -> tuple[str, ...]:
    """Name the devices whose results were compared."""
    own = f"{outcome.device.name} ({outcome.device.model})" if outcome.device is not None else "this device"
    return tuple(
        f"compared with its twin: {own} and {twin.facts.label}"
        for twin in outcome.observations.along("twin")
        if twin.dumps
    )


def _notes(baseline: Baseline | None) -> tuple[str, ...]:
    if baseline is None or not baseline.arch:
        return ()
    return (f"compared with the baseline for {baseline.arch}, which comes before the common one",)


def _renamed(baseline: Baseline | None) -> tuple[str, ...]:
    """A line on a baseline that was accepted for another case: its folder was moved, or exchanged with another."""
    accepted_as = baseline.history[-1].case if baseline is not None and baseline.history else ""
    if baseline is None or accepted_as in ("", baseline.case):
        return ()
    return (f"case {accepted_as} → {baseline.case} (the folder of the baseline was moved or exchanged)",)


# --- changes ----------------------------------------------------------------------------------------------------------


def over_limits(case: Case, outcome: Outcome) -> list[str]:
    """List kernels over the job's `resources`; a device that counts no registers is not judged."""
    limits, lines = case.settings.resources or ResourceLimits(), []
    for kernel, used in outcome.resources.items():
        for most, what, unit in (
            (limits.registers, "registers", "registers a thread"),
            (limits.spills, "spill", "bytes spilt"),
        ):
            has = used.get(what, 0)
            if most is not None and used.get("registers") and has > most:
                lines.append(f"{kernel}: {has} {unit}; the job allows {most}")
    return lines


def _verdict(
    case: Case,
    outcome: Outcome,
    status: Status,
    reason: str,
    *,
    baseline: Baseline | None = None,
    buffers: tuple[BufferVerdict, ...] = (),
    changes: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Verdict:
    return Verdict(
        case.job,
        case.name,
        status,
        first_line(reason),
        case.revision,
        baseline.revision if baseline else "",
        outcome.seconds,
        buffers,
        changes,
        notes,
        exit_code_of(status, outcome),
        outcome,
        expected_sides(buffers),
        parameters=case.parameters,
        tolerance_share=tolerance_share(buffers),
    )
