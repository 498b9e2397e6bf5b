"""Decision of the verdict on a case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation import errors
from gpuregress.foundation.errors import INFEASIBLE, CompileError, ExitCode, GpuregressError, KernelTimeout, public_name
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

EXIT_CODES: dict[Status, int] = {
    "pass": ExitCode.PASSED,
    "differ": ExitCode.DIFFERS,
    "new": ExitCode.DIFFERS,
    "fault": ExitCode.KERNEL_FAILED,
    "timeout": ExitCode.KERNEL_FAILED,
    "error": ExitCode.HARNESS_FAILED,
    "skip": ExitCode.PASSED,
}
_USERS = CompileError.exit_code
EXIT_PRECEDENCE = (
    ExitCode.HARNESS_FAILED,
    ExitCode.KERNEL_FAILED,
    ExitCode.WRONG_REQUEST,
    ExitCode.DIFFERS,
    ExitCode.NOTHING_TO_DO,
    ExitCode.PASSED,
)
"""Exit codes, the most severe first."""


def exit_code(verdicts: Iterable[Verdict], *, vanished: bool = False, has_lost_device: bool = False) -> int:
    """The run's exit code: the most severe of its cases'; 5 where nothing was run.

    Args:
        verdicts: on its cases.
        vanished: whether a case is missing, had no turn or was held back, which counts as 1.
        has_lost_device: whether a device is gone, which counts as 4.
    """
    codes = {verdict.exit_code for verdict in verdicts if verdict.status != "skip" or verdict.known is not None}
    if not codes:
        codes.add(ExitCode.NOTHING_TO_DO)
    if vanished:
        codes.add(EXIT_CODES["differ"])
    if has_lost_device:
        codes.add(EXIT_CODES["error"])
    for code in EXIT_PRECEDENCE:
        if code in codes:
            return code
    return max(codes)


def exit_code_of(status: Status, outcome: Outcome) -> int:
    """The status's; 3 where the user's own code could not be run, as for a kernel that the device cannot compile."""
    if status == "error":
        kind = getattr(errors, outcome.observations.error, None)
        if kind is not None and issubclass(kind, errors.GpuregressError) and kind.exit_code == _USERS:
            return _USERS
    return EXIT_CODES[status]


def fault_line(outcome: Outcome) -> str:
    """Describe the fault that ended a case, with the number of its launch."""
    fault = outcome.fault or Fault(outcome.state, outcome.message or "no more is known")
    line = f"{fault.kind}: {fault.message}"
    if fault.launch is not None:
        line += f" (launch {fault.launch})"
    return line


def headline(text: str) -> list[str]:
    """The lines of a message; a first one that ends with a colon is joined with the second one."""
    lines = text.splitlines() or [""]
    if len(lines) > 1 and lines[0].endswith(":"):
        lines[:2] = [f"{lines[0]} {lines[1].strip()}"]
    return lines


def first_line(text: str) -> str:
    """Return the first line of a text, "" if it is empty."""
    for line in text.splitlines():
        return line
    return ""


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
    names = dict.fromkeys((*case.dump, *comparisons))
    verdicts = []
    accepted = {}
    if baseline is not None:
        accepted = {name: dump.path for name, dump in baseline.dumps.items()}
        verdicts += [_gone(dump) for name, dump in baseline.dumps.items() if name not in names]
    for name in names:
        compared = tuple(comparisons.get(name, ()))
        verdicts.append(
            BufferVerdict(
                name,
                status=buffer_status(compared),
                dump=dumps.get(name, ""),
                baseline=accepted.get(name, ""),
                comparisons=compared,
            )
        )
    return tuple(verdicts)


def _gone(accepted: Dump) -> BufferVerdict:
    """The verdict on an accepted buffer that the job no longer dumps."""
    message = "its baseline is there, and the job no longer dumps it"
    of = accepted.count
    compared = Comparison(accepted.buffer, "baseline", "", same=False, identical=False, of=of, message=message)
    return BufferVerdict(accepted.buffer, "differ", "", accepted.path, (compared,))


def buffer_status(comparisons: Sequence[Comparison]) -> Status:
    """The status of a buffer; `new` if only checks and repeats were compared."""
    if not all(comparison.same for comparison in comparisons):
        return "differ"
    if any(comparison.against in _EXPECTED_SIDES for comparison in comparisons):
        return "pass"
    return "new"


def joint_status(
    buffers: Sequence[BufferVerdict], *, has_baseline: bool, overridden: Sequence[str] = ()
) -> tuple[Status, str]:
    """Return the status that buffers give their case, and its reason, "" for a pass.

    Args:
        buffers: their verdicts.
        has_baseline: whether the case has one.
        overridden: parameters of the case with values that its job does not have.
    """
    differing = [buffer for buffer in buffers if buffer.status == "differ"]
    if differing:
        reason = f"{differing[0].name}: {_difference(differing[0].failing[0])}"
        if len(differing) > 1:
            reason += f"; and {len(differing) - 1} more"
        return "differ", reason
    new = [buffer.name for buffer in buffers if buffer.status == "new"]
    passed = [buffer for buffer in buffers if buffer.status == "pass"]
    if new:
        lack = "no baseline yet"
        if overridden:
            lack = f"{', '.join(overridden)} set by --set, so no baseline: a reference or `agree` in the job judges it"
        parts = [lack]
        if has_baseline or passed:
            parts = [f"{', '.join(new)}: {lack}"]
        for buffer in passed:
            sides = " and ".join(map(side_text, expected_sides([buffer])))
            parts.append(f"{buffer.name}: as {sides}")
        return "new", "; ".join(parts)
    if not buffers:
        return "new", "nothing is dumped, so nothing can be compared"
    return "pass", ""


def _difference(failing: Comparison) -> str:
    if failing.against == "baseline":
        return failing.difference
    side = "drift" if failing.against == "first" else failing.against
    return f"{side}: {failing.difference}"


def is_of_old_results(buffers: Sequence[BufferVerdict]) -> bool:
    """Whether all failures are differences from accepted results, which changed inputs explain."""
    for buffer in buffers:
        for comparison in buffer.failing:
            if not buffer.dump or comparison.against not in ("baseline", "first"):
                return False
    return True


def tolerance_share(buffers: Sequence[BufferVerdict]) -> float | None:
    """The largest use of a tolerance by any buffer."""
    largest: float | None = None
    for comparison in _comparisons(buffers):
        share = comparison.tolerance_share
        if share is not None and (largest is None or share > largest):
            largest = share
    return largest


def expected_sides(buffers: Sequence[BufferVerdict]) -> tuple[str, ...]:
    """The expected sides of all comparisons, of baseline, reference and verify."""
    sides = {comparison.against for comparison in _comparisons(buffers)}
    return tuple(name for name in _EXPECTED_SIDES if name in sides)


def _comparisons(buffers: Sequence[BufferVerdict]) -> Iterator[Comparison]:
    for buffer in buffers:
        yield from buffer.comparisons


_JOB_ERRORS = "JobErrors"
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
        made_of = without_reference_inputs(case, made_of)
        baseline = replace(baseline, made_of=without_reference_inputs(case, baseline.made_of))
    rulings = [_ruling_of_buffers(case, buffers, baseline, made_of)]
    rulings += [Ruling("differ", line, ("pass", "new")) for line in over_limits(case, outcome)]
    if timing is not None and timing.fails:
        rulings.append(Ruling("differ", timing.message))
    rulings += [Ruling("differ", cost.message) for cost in costs if cost.fails]
    rulings += _rulings_of_twins(outcome, baseline)
    ruling, others = _decisive(rulings)
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
    status, reason = joint_status(buffers, has_baseline=baseline is not None, overridden=case.settings.overridden)
    is_old = status == "differ" and is_of_old_results(buffers)
    if is_old and baseline is not None and made_of is not None and changed_inputs(baseline.made_of, made_of):
        reason = f"changed inputs, not a regression: {reason}"
    return Ruling(status, reason)


def _rulings_of_twins(outcome: Outcome, baseline: Baseline | None) -> list[Ruling]:
    """Say which twins this machine could not run: a case that nothing else decides is skipped."""
    twins = [twin for twin in outcome.observations.along("twin") if twin.left_out]
    if not twins:
        return []
    reason = "; ".join(f"not compared with {twin.name}: {twin.left_out}" for twin in twins)
    if baseline is None:
        return [Ruling("skip", reason, overrules=("pass", "new"))]
    return [Ruling("skip", reason)]


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
    first, *further = str(error).splitlines() or [""]
    kind = public_name(error)
    if isinstance(error, KernelTimeout):
        return _of_case(case, "timeout", first, exit_code=EXIT_CODES["timeout"], error=kind)
    code = _USERS if error.exit_code == _USERS else EXIT_CODES["error"]
    return _of_case(case, "error", first, notes=tuple(further), exit_code=code, error=kind)


def _of_case(case: Case, status: Status, reason: str, **facts: Any) -> Verdict:
    """The verdict on a case with further facts; by itself, one that no buffer decided.

    Args:
        case: the case.
        status: its status.
        reason: one line.
        facts: further fields of the verdict.
    """
    return Verdict(
        job=case.job,
        case=case.name,
        status=status,
        reason=reason,
        revision=case.revision,
        parameters=case.parameters,
        overridden=case.settings.overridden,
        **facts,
    )


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
    facts: dict[str, Any] = {
        "notes": tuple(errors[1:]),
        "exit_code": exit_code,
        "location": location,
        "error": _JOB_ERRORS,
    }
    if case is not None:
        return _of_case(case, "error", first_line(errors[0]), **facts)
    return Verdict(job=job, case=job, status="error", reason=first_line(errors[0]), **facts)


def skipped(case: Case, reason: str) -> Verdict:
    """The verdict on a case that was not run."""
    return _of_case(case, "skip", reason)


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
        return _of_case(case, "skip", text, outcome=outcome, infeasible=True)
    advice = f"it ran when {baseline.revision} was accepted; delete its folder {case.name} in baselines/ to skip it"
    return _of_case(
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
    notes: tuple[str, ...] = ()
    if baseline is not None:
        notes = ("there is a baseline, and a job that expects a fault is not compared with it",)
    if actual is None and outcome.state == "error":
        return _verdict(case, outcome, "error", outcome.message or "could not be run", notes=notes)
    if actual is None:
        reason = f"expected to fail with {expected}, but it ran to its end"
        return _verdict(case, outcome, "differ", reason, notes=notes)
    where = _expected_place(case)
    if is_fault_kind(outcome, expected):
        if case.program is not None:  # its launches are not the job's
            return _verdict(case, outcome, "pass", f"failed as expected: {fault_line(outcome)}", notes=notes)
        if outcome.fault is None or outcome.fault.position is None:
            where = where or " in a launch of the case"
        elif _is_expected_place(case, case.launches[outcome.fault.position]):
            return _verdict(case, outcome, "pass", f"failed as expected: {fault_line(outcome)}", notes=notes)
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
    place = ""
    if case.expect_kernel:
        place += f" of {case.expect_kernel}"
    if case.expect_launch is not None:
        place += f" in launch {case.expect_launch + 1}"
    return place


def _kind(outcome: Outcome) -> str | None:
    """The kind of fault that ended a case, None without a fault."""
    if outcome.fault is not None:
        return outcome.fault.kind
    if outcome.state in ("fault", "timeout"):
        return outcome.state
    return None


# --- buffers ----------------------------------------------------------------------------------------------------------


def _twin_notes(outcome: Outcome) -> tuple[str, ...]:
    """Name the devices whose results were compared."""
    device = "this device"
    if outcome.device is not None:
        device = f"{outcome.device.name} ({outcome.device.model})"
    labels = [twin.facts.label for twin in outcome.observations.along("twin") if twin.dumps]
    return tuple(f"compared with its twin: {device} and {label}" for label in labels)


def _notes(baseline: Baseline | None) -> tuple[str, ...]:
    if baseline is None or not baseline.arch:
        return ()
    return (f"compared with the baseline for {baseline.arch}, which comes before the common one",)


def _renamed(baseline: Baseline | None) -> tuple[str, ...]:
    """A line on a baseline that was accepted for another case: its folder was moved, or exchanged with another."""
    if baseline is None or not baseline.history:
        return ()
    accepted_as = baseline.history[-1].case
    if accepted_as in ("", baseline.case):
        return ()
    return (f"case {accepted_as} → {baseline.case} (the folder of the baseline was moved or exchanged)",)


# --- changes ----------------------------------------------------------------------------------------------------------


def over_limits(case: Case, outcome: Outcome) -> list[str]:
    """List kernels over the job's `resources`; a device that counts no registers is not judged."""
    limits, lines = case.settings.resources or ResourceLimits(), []
    for kernel, used in outcome.resources.items():
        registers, spilt = used.get("registers", 0), used.get("spill", 0)
        if not registers:
            continue
        if limits.registers is not None and registers > limits.registers:
            lines.append(f"{kernel}: {registers} registers a thread; the job allows {limits.registers}")
        if limits.spills is not None and spilt > limits.spills:
            lines.append(f"{kernel}: {spilt} bytes spilt; the job allows {limits.spills}")
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
    return _of_case(
        case,
        status,
        first_line(reason),
        baseline_revision=baseline.revision if baseline is not None else "",
        seconds=outcome.seconds,
        buffers=buffers,
        changes=changes,
        notes=notes,
        exit_code=exit_code_of(status, outcome),
        outcome=outcome,
        against=expected_sides(buffers),
        tolerance_share=tolerance_share(buffers),
    )
