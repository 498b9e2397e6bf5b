"""Page that puts two runs side by side: which verdicts, times and costs changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuregress.foundation.records import STATUSES
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record
from gpuregress.report.html import templates
from gpuregress.report.html.sections import SEVERITY
from gpuregress.report.html.templates import FAILED

_MOST_ROWS = 2000
_FAILURES = FAILED | {"missing"}
_NO_RESULT = "no result"
"""In place of a verdict: the run did not come to its end."""


class Change(Record):
    """What can become of a case from run A to run B.

    Attributes:
        counted: after a number of cases, in the headline.
        word: in the row of one case.
    """

    counted: str
    word: str


_CHANGES = {
    "worse": Change("fail now and did not before", "fails now"),
    "only in A": Change("only in A", "only in A"),
    "no result in B": Change("without a result in B", "no result in B"),
    "new": Change("have no baseline now", "no baseline now"),
    "skip": Change("are skipped now", "skipped now"),
    "other": Change("fail in another way", "fails in another way"),
    "extent": Change("fail in more or fewer elements", "fails in more or fewer elements"),
    "no result in A": Change("without a result in A", "no result in A"),
    "better": Change("no longer fail", "no longer fails"),
    "passes": Change("pass now and were not judged before", "passes now"),
    "only in B": Change("only in B", "only in B"),
}
"""The rows stand in this order."""


class ComparedCase(Record):
    """A case of two runs; a run that lacks it has no entry.

    Attributes:
        name: of the case.
        first: its entry of the first run's results.json.
        second: of the second one's.
    """

    name: str
    first: Mapping[str, Any] | None
    second: Mapping[str, Any] | None

    @property
    def verdicts(self) -> tuple[str, str]:
        """The verdicts, "" of a run that lacks it."""
        return _verdict(self.first), _verdict(self.second)

    @property
    def words(self) -> str:
        """The change for people."""
        return _CHANGES[self.change].word

    @property
    def reason(self) -> str:
        """Why it fails now, or failed before; both where it fails in both runs."""
        failing = [entry for entry in (self.first, self.second) if entry and entry["verdict"] in _FAILURES]
        return " → ".join(dict.fromkeys(str(entry["reason"]) for entry in failing))

    @property
    def change(self) -> str:
        """One of `_CHANGES`; "" where the case passes in both runs, or fails alike."""
        first, second = self.verdicts
        if second in _FAILURES and first not in _FAILURES:
            return "worse"
        if not first:
            return "only in B"
        if not second:
            return "only in A"
        if first != second and _NO_RESULT in (first, second):
            return "no result in B" if second == _NO_RESULT else "no result in A"
        if first in _FAILURES and second in _FAILURES:
            return self._change_of_failure()
        if first == second:
            return ""
        if second != "pass":
            return second
        return "better" if first in _FAILURES else "passes"

    def _change_of_failure(self) -> str:
        assert self.first is not None
        assert self.second is not None
        if self.verdicts[0] != self.verdicts[1] or self.first.get("cause") != self.second.get("cause"):
            return "other"
        return "" if _extent(self.first) == _extent(self.second) else "extent"

    def measured(self, measure: Measure) -> Measured | None:
        """A measure of both runs; None where one has none, or a result is wrong: how fast it was says nothing."""
        if self.first is None or self.second is None or self.verdicts != ("pass", "pass"):
            return None
        before, after = measure.of(self.first), measure.of(self.second)
        if not before or not after:
            return None
        return Measured(self.name, measure.form.format(before), measure.form.format(after), after / before)


def _extent(entry: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Which buffers are wrong, and in how many elements."""
    return [(buffer["name"], buffer["verdict"], buffer["differing"], buffer["of"]) for buffer in entry["buffers"]]


def _verdict(entry: Mapping[str, Any] | None) -> str:
    return "" if entry is None else str(entry["verdict"])


class Measure(Record):
    """A quantity by which the passing cases of two runs are compared.

    Attributes:
        title: of its section.
        note: on how it is measured.
        of: its value in an entry of results.json, 0 where there is none.
        form: of a value, for `str.format`.
        least: the ratio, either way, from which on a case is named.
    """

    title: str
    note: str
    of: Callable[[Mapping[str, Any]], float]
    form: str
    least: float


class Measured(Record):
    """A measure of a case in two runs, in words, and its ratio."""

    name: str
    before: str
    after: str
    ratio: float


def comparison_page(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The page of two results.json.

    Args:
        first: run A, as a rule the earlier one.
        second: run B.
    """
    cases = list(_paired(first, second))
    changed = sorted((case for case in cases if case.change), key=_rank)
    parts = []
    for kind, change in _CHANGES.items():
        number = sum(case.change == kind for case in changed)
        if number:
            parts.append(f"{number} {change.counted}")
    headline = f"{plural(len(cases), 'case')}: {', '.join(parts) or 'no verdict changed'}"
    measures = []
    for measure in _MEASURES:
        measured = [pair for pair in (case.measured(measure) for case in cases) if pair is not None]
        moved = [pair for pair in measured if max(pair.ratio, 1 / pair.ratio) >= measure.least]
        moved.sort(key=lambda pair: -pair.ratio)
        measures.append(
            {
                "title": measure.title,
                "note": measure.note,
                "compared": len(measured),
                "rows": moved[:_MOST_ROWS],
                "more": len(moved) - _MOST_ROWS,
            }
        )
    return templates.render(
        "comparison.html",
        title=f"gpuregress {first['run']} and {second['run']}: {headline}",
        headline=headline,
        facts=list(_facts(first, second)),
        changed=changed[:_MOST_ROWS],
        more=len(changed) - _MOST_ROWS,
        measures=measures,
    )


def _paired(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[ComparedCase]:
    """The cases of both runs, those of the second one first, in its order."""
    before, after = _entries(first), _entries(second)
    for name in dict.fromkeys((*after, *before)):
        yield ComparedCase(name, before.get(name), after.get(name))


def _entries(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The cases of a run, by name; one that is missing, or has no result, has an entry, too: it fails the run."""
    entries: dict[str, Mapping[str, Any]] = {}
    for name in document["unfinished"]:
        entries[name] = {"verdict": _NO_RESULT, "reason": "", "buffers": ()}
    for missing in document["missing"]:
        entries[missing["case"]] = {"verdict": "missing", "reason": " ".join(missing["lines"]), "buffers": ()}
    for entry in document["cases"]:
        entries[entry["case"]] = entry
    return entries


def _rank(case: ComparedCase) -> tuple[int, int]:
    order = ("missing", _NO_RESULT, *SEVERITY)
    return list(_CHANGES).index(case.change), order.index(case.verdicts[1] or case.verdicts[0])


def _facts(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The facts of both runs: name, that of A, that of B."""
    for name, key in (
        ("run", "run"),
        ("started", "started"),
        ("device", "device"),
        ("host", "host"),
        ("compiler", "compiler"),
    ):
        yield name, str(first.get(key) or "—"), str(second.get(key) or "—")
    yield "commit", _commit(first), _commit(second)
    yield "end", _end(first), _end(second)
    yield "verdicts", _counts(first), _counts(second)
    yield "time", f"{first['seconds']:.2f} s", f"{second['seconds']:.2f} s"


def _commit(document: Mapping[str, Any]) -> str:
    text = str(document.get("commit") or "—")[:12]
    if document.get("dirty"):
        text += ", with changes"
    return text


def _end(document: Mapping[str, Any]) -> str:
    return f"{document['state']}, exit code {document['exit_code']}"


def _counts(document: Mapping[str, Any]) -> str:
    verdicts = [entry["verdict"] for entry in document["cases"]]
    return ", ".join(f"{verdicts.count(status)} {status}" for status in STATUSES if status in verdicts) or "none"


def _instructions(entry: Mapping[str, Any]) -> float:
    return float(sum((entry.get("instructions") or {}).values()))


def _milliseconds(entry: Mapping[str, Any]) -> float:
    """The time of the launches on the device: the median sample of `timing:`, else their sum."""
    samples = sorted((entry.get("timing") or {}).get("samples_ms") or ())
    if samples:
        return float(samples[len(samples) // 2])
    return float(sum(launch["elapsed_ms"] for launch in entry.get("launches") or ()))


_MEASURES = (
    Measure(
        title="Instructions",
        note="of the CPU device, which counts them exactly",
        of=_instructions,
        form="{:,.0f}",
        least=1.0 + 1e-9,
    ),
    Measure(
        title="Times",
        note="of the launches, from 1.1 times on; where a job has no timing, one measurement, which noise changes",
        of=_milliseconds,
        form="{:.4g} ms",
        least=1.1,
    ),
)
