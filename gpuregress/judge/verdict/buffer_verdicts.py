"""Verdicts on the buffers of a case, and the status that they give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuregress.foundation.records import Baseline, BufferVerdict, Case, Comparison, Dump, Outcome, Status, side_text

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
