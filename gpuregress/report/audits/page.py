"""The report of an audit as a self-contained page."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records.audits import EVIDENCE, AuditReport, EvidenceKind
from gpuregress.report.audits import text
from gpuregress.report.html.fragments import listed, preformatted, scrolling
from gpuregress.report.html.frame import framed


def page(report: AuditReport) -> str:
    """The whole page."""
    return framed(f"gpuregress audit: {text.headline(report)}", "\n".join(_body(report)))


def _body(report: AuditReport) -> Iterator[str]:
    yield '<a class="skip-link" href="#main">to the results</a>'
    yield f'<header><h1>{escape(text.headline(report))}</h1></header><main id="main" tabindex="-1">'
    yield '<section aria-labelledby="grades"><h2 id="grades">Grades</h2>'
    yield from scrolling("grades", _table(report))
    yield "</section>"
    for kind, title in EVIDENCE.items():
        yield from _section(report, kind, title)
    yield from _not_examined(report)
    yield from _limits(report)
    yield from listed("Notes", report.notes)
    yield "</main>"


def _table(report: AuditReport) -> Iterator[str]:
    parts = text.counted(report)
    names = ("grade", "job", *(part.name for part in parts), "points", "")
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    for one in report.grades:
        cells = (
            *(text.cell(part, one.job) for part in parts),
            f"{one.points:.0f} of {one.examined:.0f}",
            one.why,
        )
        shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f'<tr><td>{escape(text.grade(one))}</td><th scope="row"><code>{escape(one.job)}</code></th>{shown}</tr>'
    yield "</tbody></table>"


def _section(report: AuditReport, kind: EvidenceKind, title: str) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    examined = [(part.name, job) for part in report.parts for job in part.jobs]
    for name, job in examined:
        for one in job.evidence:
            if one.kind == kind:
                lines = "".join(preformatted(one.details, one.text))
                found.setdefault(job.job, []).append(f"<li>{escape(name)}: {escape(one.text)}{lines}</li>")
    if not found:
        return
    yield f'<section aria-labelledby="{kind}"><h2 id="{kind}">{title}</h2>'
    for name, items in found.items():
        is_open = " open" if kind != "proven" else ""
        yield f'<details{is_open}><summary><code>{escape(name)}</code> <span class="soft">{len(items)}</span></summary>'
        yield f"<ul>{''.join(items)}</ul></details>"
    yield "</section>"


def _not_examined(report: AuditReport) -> Iterator[str]:
    left = text.not_examined(report)
    if left:
        yield '<section aria-labelledby="left"><h2 id="left">Not examined</h2><ul>'
        for (part, done, why), jobs in left.items():
            told = ": ".join(one for one in (part, done, why) if one)
            yield f"<li>{escape(', '.join(jobs))}: {escape(told)}</li>"
        yield "</ul></section>"


def _limits(report: AuditReport) -> Iterator[str]:
    """What each part proves, and what it does not prove."""
    yield '<section aria-labelledby="limits"><h2 id="limits">What this proves</h2>'
    yield "<table><thead><tr><th>part</th><th>points</th><th>time</th><th>proves</th></tr></thead><tbody>"
    for part in report.parts:
        yield (
            f'<tr><th scope="row">{escape(part.name)}</th><td>{part.points}</td><td>{part.seconds:.0f} s</td>'
            f"<td>{escape(part.proves)}</td></tr>"
        )
    yield "</tbody></table></section>"
