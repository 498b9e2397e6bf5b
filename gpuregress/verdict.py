"""Decision of verdicts, and of exit codes. Pure: records in, a verdict out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuregress.errors import INFEASIBLE, CompileError, GpuregressError, KernelTimeout, UserCodeError
from gpuregress.records import (
    Baseline,
    BufferVerdict,
    Case,
    Comparison,
    CostComparison,
    Dump,
    Fault,
    KnownFailing,
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

EXIT_CODES: dict[Status, int] = {"pass": 0, "differ": 1, "new": 1, "fault": 3, "timeout": 3, "error": 4, "skip": 0}
EXIT_PRECEDENCE = (4, 3, 2, 1, 5, 0)
"""Exit codes, the most severe first."""

_EXPECTED_SIDES = ("baseline", "reference", "twin", "verify", "agree")
# Old baselines lack this option, which every program now has; it changes the PTX of no kernel.
_OF_EVERY_PROGRAM = frozenset(["--device-int128"])
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
    if outcome.state == "error" and case.settings.infeasible and outcome.observations.error in INFEASIBLE:
        return infeasible(case, outcome.message, baseline, outcome)
    if case.expect_fault is not None:
        return _expected_fault(case, outcome, case.expect_fault, baseline)
    if outcome.state == "error":
        details = outcome.observations.details  # the last output of a worker that died
        first, *rest = _headline(outcome.message or "could not be run")
        return _verdict(case, outcome, "error", first, baseline=baseline, notes=(*rest, *details))
    if outcome.fault is not None or outcome.state != "done":
        status: Status = "timeout" if outcome.state == "timeout" else "fault"
        return _verdict(case, outcome, status, _fault_line(outcome), baseline=baseline)
    buffers = _buffers(case, outcome, baseline, comparisons)
    if baseline is not None and made_of is not None:
        accepted, made_of = (_without_reference_inputs(case, facts) for facts in (baseline.made_of, made_of))
        baseline = dataclasses.replace(baseline, made_of=accepted)
    renamed = _renamed(baseline)
    changed = (*renamed, *changes(baseline.made_of, made_of)) if baseline and made_of else renamed
    status, reason = _of_buffers(buffers, has_baseline=baseline is not None)
    watched = case.settings.instruments.checks
    if watched and not buffers:  # the dynamic checks are all that the job asks for
        status, reason = "pass", f"no finding of {', '.join(watched)}"
    is_explained = status == "differ" and _is_of_old_results(buffers)
    if is_explained and baseline and made_of and _changed_inputs(baseline.made_of, made_of):
        reason = f"changed inputs, not a regression: {reason}"
    over = _over_limits(case, outcome)
    if over and status in ("pass", "new"):
        status, reason = "differ", over[0]
    slower = timing.message if timing is not None and timing.fails else ""
    if slower and status == "pass":
        status, reason, slower = "differ", slower, ""
    costly = [one.message for one in costs if one.fails]
    if costly and status == "pass":
        status, reason = "differ", costly.pop(0)
    lacking = _lacking_twins(outcome)
    if lacking and (status == "pass" or (status == "new" and baseline is None)):
        status, reason = "skip", lacking
    resources = _resources(baseline.made_of, made_of) if baseline and made_of else []
    further = (*over, *([slower] if slower else []), *costly, *([lacking] if lacking and status != "skip" else []))
    decided = _verdict(
        case,
        outcome,
        status,
        reason,
        baseline=baseline,
        buffers=buffers,
        changes=(*renamed, *resources) if status == "pass" else changed,
        notes=(*_notes(baseline), *further, *_twin_notes(outcome)),
    )
    decided = dataclasses.replace(decided, costs=tuple(costs)) if costs else decided
    is_told = baseline is not None or status != "new"  # a new case says already that nothing was compared
    return dataclasses.replace(decided, timing=timing) if timing is not None and is_told else decided


def failed(case: Case, error: GpuregressError) -> Verdict:
    """The verdict on a case that could not be run or compared: a compile error, a damaged baseline."""
    first, *rest = str(error).splitlines() or [""]
    if isinstance(error, KernelTimeout):
        return _without_buffers(case, "timeout", first, exit_code=3)
    code = 3 if isinstance(error, CompileError | UserCodeError) else 4
    return _without_buffers(case, "error", first, notes=tuple(rest), exit_code=code)


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
    first, notes = _first_line(errors[0]), tuple(errors[1:])
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
    text = f"infeasible: {_headline(reason)[0]}"
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


def with_agreement(decided: Verdict, comparisons: Mapping[str, Comparison], absent: int) -> Verdict:
    """The verdict on a case together with its comparisons with other cases, with which it must agree.

    Args:
        decided: the verdict on the case by itself: `pass` or `new`.
        comparisons: buffer → its comparison.
        absent: the number of cases of its group that could not be compared.
    """
    buffers = tuple(_with(buffer, comparisons.get(buffer.name)) for buffer in decided.buffers)
    status, reason = _of_buffers(buffers, has_baseline=bool(decided.baseline_revision))
    if status == decided.status:
        reason = decided.reason
    were = "case of its group was" if absent == 1 else "cases of its group were"
    notes = (f"{absent} {were} not compared: skipped, failed or not run to the end",) if absent else ()
    return dataclasses.replace(
        decided,
        status=status,
        reason=_first_line(reason),
        buffers=buffers,
        notes=(*decided.notes, *notes),
        exit_code=EXIT_CODES[status],
        against=_against(buffers),
        tolerance_share=_tolerance_share(buffers),
    )


def _with(buffer: BufferVerdict, comparison: Comparison | None) -> BufferVerdict:
    if comparison is None:
        return buffer
    comparisons = (*buffer.comparisons, comparison)
    return dataclasses.replace(buffer, status=_status(comparisons), comparisons=comparisons)


def without_partners(decided: Verdict, others: int) -> Verdict:
    """The verdict on a case that must agree with others, where there is none to compare it with.

    Args:
        decided: the verdict on the case by itself: `pass` or `new`.
        others: the number of the other cases of its group in this run.
    """
    why = f"none of the {others} others of its group ran to its end" if others > 1 else "it is alone in this run"
    text = f"nothing to agree with: {why if others != 1 else 'the other one of its group did not run to its end'}"
    if decided.status == "new":
        return dataclasses.replace(decided, reason="; ".join(filter(None, (decided.reason, text))))
    return dataclasses.replace(decided, notes=(*decided.notes, text))


def with_known_failure(decided: Verdict, known: KnownFailing, today: str) -> Verdict:
    """The verdict on a case whose failure is known: a skip if it fails, a failure if it passes unexpectedly.

    From the day `until` on, the case is judged as any other, and says so. Trouble of the harness or the device is
    never a known failure, and neither is a case without a baseline.

    Args:
        decided: the verdict on the case by itself.
        known: from its job.
        today: ISO 8601.
    """
    ended = f"known_failing ended on {known.until} ({known.why})"
    if decided.status == "pass":
        if today >= known.until:
            return dataclasses.replace(decided, notes=(*decided.notes, f"{ended}, and the case passes: remove the key"))
        reason = f"passes, but is known_failing until {known.until} ({known.why}): remove the key from the job"
        return dataclasses.replace(decided, status="differ", reason=reason, exit_code=EXIT_CODES["differ"])
    if decided.status in ("skip", "new") or decided.exit_code == EXIT_CODES["error"]:
        return decided
    if today >= known.until:
        return dataclasses.replace(decided, reason=f"{decided.reason} ({ended})")
    reason = f"known failing until {known.until} ({known.why}): {decided.headline}"
    is_known = dataclasses.replace(known, status=decided.status)
    return dataclasses.replace(decided, status="skip", reason=reason, exit_code=0, known=is_known)


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


def changes(expected: MadeOf, actual: MadeOf) -> tuple[str, ...]:
    """List the changes of provenance since the baseline, the most likely cause first."""
    lines = [f"inputs of {name} changed" for name in _changed_inputs(expected, actual)]
    if expected.seed != actual.seed:
        lines.append(f"seed {expected.seed} → {actual.seed}")
    lines += _change("compiler", expected.compiler, actual.compiler)
    lines += _options(expected.options, actual.options)
    lines += _change("contract", expected.contract, actual.contract)
    lines += _change("architecture", expected.arch, actual.arch)
    lines += _change("device", expected.device, actual.device)
    if expected.device == actual.device:  # another device has another driver
        lines += _change("driver", expected.driver.removeprefix("driver "), actual.driver.removeprefix("driver "))
    lines += _launches(expected.launches, actual.launches)
    lines += _resources(expected, actual)
    if expected.source != actual.source:
        lines.append(_changed_sources(expected.sources, actual.sources))
    return tuple(lines)


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
    is_gpu = outcome.device is not None and outcome.device.name.startswith("cuda")
    is_kind = actual in (expected, _CHECKED_NAMES.get(expected))
    is_kind = is_kind or (is_gpu and actual in _GPU_NAMES.get(expected, ()))
    position = outcome.fault.position if outcome.fault is not None else None
    launch = case.launches[position] if position is not None else None
    if is_kind and launch is not None and _is_expected_place(case, launch):
        return _verdict(case, outcome, "pass", f"failed as expected: {_fault_line(outcome)}", notes=notes)
    where = _expected_place(case)
    if is_kind and launch is None:
        where = where or " in a launch of the case"
    status: Status = "timeout" if actual == "timeout" else "fault"
    return _verdict(case, outcome, status, f"expected {expected}{where}, but: {_fault_line(outcome)}", notes=notes)


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


def _fault_line(outcome: Outcome) -> str:
    fault = outcome.fault or Fault(outcome.state, outcome.message or "no more is known")
    where = "" if fault.launch is None else f" (launch {fault.launch})"
    return f"{fault.kind}: {fault.message}{where}"


# --- buffers ----------------------------------------------------------------------------------------------------------


def _buffers(
    case: Case, outcome: Outcome, baseline: Baseline | None, comparisons: Mapping[str, Sequence[Comparison]]
) -> tuple[BufferVerdict, ...]:
    dumps = {dump.buffer: dump.path for dump in outcome.dumps}
    accepted = {name: dump.path for name, dump in baseline.dumps.items()} if baseline else {}
    names = dict.fromkeys((*case.dump, *comparisons))
    gone = tuple(_gone(dump) for name, dump in baseline.dumps.items() if name not in names) if baseline else ()
    return gone + tuple(
        BufferVerdict(
            name,
            _status(comparisons.get(name, ())),
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


def _status(comparisons: Sequence[Comparison]) -> Status:
    """The status of a buffer; `new` if only checks and repeats were compared."""
    if any(not comparison.same for comparison in comparisons):
        return "differ"
    return "pass" if any(comparison.against in _EXPECTED_SIDES for comparison in comparisons) else "new"


def _of_buffers(buffers: Sequence[BufferVerdict], *, has_baseline: bool) -> tuple[Status, str]:
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
    return "as " + " and ".join(side_text(name) for name in _against([buffer]))


def _what(buffer: BufferVerdict) -> str:
    failing = next(comparison for comparison in buffer.comparisons if not comparison.same)
    named = {"baseline": "", "first": "drift: "}
    against = named.get(failing.against, f"{failing.against}: ")
    return against + failing.difference


def _is_of_old_results(buffers: Sequence[BufferVerdict]) -> bool:
    """Whether all failures are differences from accepted results, which changed inputs explain."""
    failing = [(one, comparison) for one in buffers for comparison in one.comparisons if not comparison.same]
    return all(one.dump and comparison.against in ("baseline", "first") for one, comparison in failing)


def _lacking_twins(outcome: Outcome) -> str:
    """Say which twins this machine could not run, "" if none."""
    lacking = [twin for twin in outcome.observations.twins if twin.missing]
    return "; ".join(f"not compared with {twin.kind}: {twin.missing}" for twin in lacking)


def _twin_notes(outcome: Outcome) -> tuple[str, ...]:
    """Name the devices whose results were compared."""
    own = f"{outcome.device.name} ({outcome.device.model})" if outcome.device is not None else "this device"
    return tuple(
        f"compared with its twin: {own} and {twin.device}" for twin in outcome.observations.twins if twin.dumps
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


def _without_reference_inputs(case: Case, facts: MadeOf) -> MadeOf:
    """Leave out the inputs that only references use: they change no result."""
    if not case.reference_kernels:
        return facts
    others = case.buffers.keys() - case.own_buffers
    kept = {name: digest for name, digest in facts.inputs.items() if name not in others}
    return dataclasses.replace(facts, inputs=kept)


def _changed_inputs(expected: MadeOf, actual: MadeOf) -> tuple[str, ...]:
    names = dict.fromkeys((*expected.inputs, *actual.inputs))
    return tuple(name for name in names if expected.inputs.get(name) != actual.inputs.get(name))


def _changed_sources(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """Name the sources that changed, where there are several."""
    names = [name for name in dict.fromkeys((*expected, *actual)) if expected.get(name) != actual.get(name)]
    is_known = expected and actual and names
    return f"source changed: {', '.join(names)}" if is_known else "source changed"


def _change(what: str, expected: str, actual: str) -> list[str]:
    return [f"{what} {expected or 'none'} → {actual or 'none'}"] if expected != actual else []


def _options(expected: Sequence[str], actual: Sequence[str]) -> list[str]:
    expected, actual = (
        [option for option in options if option not in _OF_EVERY_PROGRAM] for options in (expected, actual)
    )
    signed = [f"-({o})" for o in expected if o not in actual] + [f"+({o})" for o in actual if o not in expected]
    if signed:
        return [f"compiler options: {' '.join(signed)}"]
    return ["compiler options: another order"] if tuple(expected) != tuple(actual) else []


def _launches(expected: Sequence[str], actual: Sequence[str]) -> list[str]:
    if tuple(expected) == tuple(actual):
        return []
    if len(expected) != len(actual):
        return [f"launches: {len(expected)} → {len(actual)}"]
    number, e, a = next((k, e, a) for k, (e, a) in enumerate(zip(expected, actual, strict=True), 1) if e != a)
    return [f"launch {number}: {e} → {a}"]


def _resources(expected: MadeOf, actual: MadeOf) -> list[str]:
    """List changed registers, spills and the like of each kernel, if the same assembler counted both."""
    lines = []
    for kernel, e in expected.resources.items():
        a = actual.resources.get(kernel, {})
        if expected.arch == actual.arch and e.get("registers") and a.get("registers"):
            lines += [f"{kernel}: {what} {e[what]} → {a[what]}" for what in e if a.get(what) not in (e[what], None)]
    return lines


def _over_limits(case: Case, outcome: Outcome) -> list[str]:
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
        _first_line(reason),
        case.revision,
        baseline.revision if baseline else "",
        outcome.seconds,
        buffers,
        changes,
        notes,
        _exit_code(status, outcome),
        outcome,
        _against(buffers),
        parameters=case.parameters,
        tolerance_share=_tolerance_share(buffers),
    )


def _tolerance_share(buffers: Sequence[BufferVerdict]) -> float | None:
    """The largest use of a tolerance by any buffer."""
    shares = (comparison.tolerance_share for buffer in buffers for comparison in buffer.comparisons)
    return max((share for share in shares if share is not None), default=None)


def _exit_code(status: Status, outcome: Outcome) -> int:
    """The status's; 3 where the user's own code could not be run, as for a kernel that does not compile."""
    is_users = status == "error" and outcome.observations.error == UserCodeError.__name__
    return UserCodeError.exit_code if is_users else EXIT_CODES[status]


def _against(buffers: Sequence[BufferVerdict]) -> tuple[str, ...]:
    """The expected sides of all comparisons, of baseline, reference and verify."""
    sides = {comparison.against for buffer in buffers for comparison in buffer.comparisons}
    return tuple(name for name in _EXPECTED_SIDES if name in sides)


def _headline(text: str) -> list[str]:
    """The lines of a message; a first one that ends with a colon is joined with the second one."""
    first, *more = text.splitlines() or [""]
    return [f"{first} {more[0].strip()}", *more[1:]] if more and first.endswith(":") else [first, *more]


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""
