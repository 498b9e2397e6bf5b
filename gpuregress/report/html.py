"""Report of a run as one self-contained HTML page, without scripts or external resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from gpuregress.escapes import visible_html as escape
from gpuregress.records import STATUSES, RunSummary
from gpuregress.report import error_map_svg, json_report, parameter_grid_html

_STYLE = """
:root { color-scheme: light dark; --text: #1d2129; --soft: #5a6472; --line: #dde1e7; --card: #f6f7f9; --page: #fff;
  --pass: #1a7f37; --differ: #c62828; --new: #9a6700; --fault: #b3003b; --timeout: #b3003b; --error: #8e24aa;
  --skip: #6b7480 }
@media (prefers-color-scheme: dark) { :root { --text: #dfe3ea; --soft: #98a2b0; --line: #2c323c; --card: #1b1f26;
  --page: #14171c; --pass: #57c26f; --differ: #ff7b72; --new: #e0b34c; --fault: #ff6d94; --timeout: #ff6d94;
  --error: #d08ff0; --skip: #8b949e } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1.2em; color: var(--text);
  background: var(--page) }
h1 { font-size: 1.5em; margin: 0 } h2 { font-size: 1.15em; margin: 2em 0 .6em } h3 { font-size: 1em; margin: 0 }
code, pre, .mono { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere } pre { white-space: pre-wrap }
p { margin: .5em 0 } .soft { color: var(--soft) } .num { text-align: right; font-variant-numeric: tabular-nums }
.bar { display: flex; height: 10px; border-radius: 5px; overflow: hidden; margin: 1em 0 .6em }
.bar span { background: var(--soft) } .counts { display: flex; gap: 1.6em; flex-wrap: wrap; font-weight: 600 }
.case { background: var(--card); border-left: 4px solid var(--line); border-radius: 6px; padding: .8em 1em;
  margin: .8em 0 }
.scroll { overflow-x: auto } table { border-collapse: collapse; margin: .5em 0 } .wide { width: 100% }
th, td { text-align: left; padding: .2em .9em .2em 0; vertical-align: top } th { color: var(--soft); font-weight: 600 }
.wide tr { border-bottom: 1px solid var(--line) } ul { margin: .3em 0; padding-left: 1.3em } summary { cursor: pointer }
.status { font-weight: 600 } svg.errors { display: block; max-width: 100%; border-radius: 3px; margin: .5em 0 0 }
"""
_FAILED = ("differ", "fault", "timeout", "error")
_MOST_SHOWN = 8
_MOST_OPEN = 30


def render(summary: RunSummary) -> str:
    """The page of a run that has just ended."""
    return page(json_report.finite(json_report.document(summary)))


def page(document: dict[str, Any]) -> str:
    """The page of a results.json: counts, failures in full, new cases, then a table of all cases.

    Args:
        document: the content of the file.
    """
    title = escape(f"gpuregress {document['run']}")
    colours = "".join(
        f" .{status} {{ color: var(--{status}) }} .bar .{status} {{ background: var(--{status}) }}"
        f" .case.{status} {{ color: inherit; border-color: var(--{status}) }}\n"
        for status in STATUSES
    )
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    style, body = f"{_STYLE}{parameter_grid_html.STYLE}{colours}", "\n".join(_body(document))
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{style}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _body(document: dict[str, Any]) -> Iterator[str]:
    cases = document["cases"]
    yield from _summary(document)
    failed = [entry for entry in cases if entry["verdict"] in _FAILED]
    missing = [line for one in document.get("missing", ()) for line in one["lines"]]
    spaces = document.get("parameter_spaces", ())
    if failed or missing:
        yield "<h2>What is wrong</h2>"
        yield from _list("Missing", missing)
        yield from _failed(failed, spaces)
    yield from _grids(spaces)
    fresh = [entry for entry in cases if entry["verdict"] == "new"]
    if fresh:
        yield "<h2>New: nothing to compare with yet</h2>"
        yield from _new(fresh)
    yield from _folded_notes([note for note in document["notes"] if note not in missing])
    yield from _variants(cases)
    yield "<h2>Every case</h2>"
    yield from _every(cases)


def _failed(failed: Sequence[dict[str, Any]], spaces: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Groups of many failures, the simplest case of each open; then the other failures, the first ones open."""
    entries, grouped = {entry["case"]: entry for entry in failed}, set[str]()
    for space in spaces:
        for group in space["failures"]:
            cases = [entries[case] for case in group["cases"] if case in entries]
            grouped |= {entry["case"] for entry in cases}
            fault = f" ({group['fault']})" if group["fault"] else ""
            way = f"{len(cases)} cases, {group['status']}{fault}"
            yield f"<p><b>{escape(space['job'])}</b>, {escape(way)}: <b>{escape(group['text'])}</b></p>"
            most = 1 if group["alternatives"] or not group["compared"] else _MOST_OPEN
            yield from _opened(cases, most, "more like it, by the size of their parameters")
    yield from _opened([entry for entry in failed if entry["case"] not in grouped], _MOST_OPEN, "more")


def _opened(cases: Sequence[dict[str, Any]], most: int, what: str) -> Iterator[str]:
    """Cases in full, those after the first few folded."""
    for entry in cases[:most]:
        yield from _case(entry)
    if cases[most:]:
        yield f"<details><summary>{len(cases) - most} {what}</summary>"
        for entry in cases[most:]:
            yield from _case(entry)
        yield "</details>"


def _grids(spaces: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The verdicts of each job over two parameters; folded where all is well."""
    shown = [space for space in spaces if space["grid"] is not None]
    if shown:
        yield "<h2>Parameters</h2>"
    for space in shown:
        has_failed = any(cell.get(status) for row in space["grid"]["rows"] for cell in row for status in _FAILED)
        yield f"<details{' open' if has_failed else ''}><summary><code>{escape(space['job'])}</code></summary>"
        yield from parameter_grid_html.table(space["grid"])
        yield "</details>"


def _summary(document: dict[str, Any]) -> Iterator[str]:
    verdicts = [entry["verdict"] for entry in document["cases"]]
    counts = [(status, verdicts.count(status)) for status in STATUSES if status in verdicts]
    stopped = "" if document["state"] == "finished" else f"{document['state']}, "
    headline = _headline(counts, len(document.get("missing", ())), document["exit_code"])
    yield f"<h1>{escape(stopped.capitalize() + headline)}</h1>"
    yield (
        f'<p class="soft">run {escape(document["run"])} · {escape(document["started"])} · {escape(document["device"])}'
        f" · {document['seconds']:.2f} s · {escape(stopped + document['cut'])} exit code {document['exit_code']}</p>"
    )
    yield '<div class="bar">' + "".join(f'<span class="{w}" style="flex:{n}"></span>' for w, n in counts) + "</div>"
    yield '<p class="counts">' + "".join(f'<span class="{status}">{n} {status}</span>' for status, n in counts) + "</p>"


def _folded_notes(notes: Sequence[str]) -> Iterator[str]:
    """The notes of the run, folded where there are many."""
    if notes:
        state = "" if len(notes) > _MOST_SHOWN else " open"
        items = "".join(f"<li>{escape(note)}</li>" for note in notes)
        yield f"<h2>Notes</h2><details{state}><summary>{len(notes)} in all</summary><ul>{items}</ul></details>"


def _headline(counts: Sequence[tuple[str, int]], missing: int, exit_code: int) -> str:
    number = sum(count for _, count in counts)
    failed = sum(count for status, count in counts if status in _FAILED)
    fresh = sum(count for status, count in counts if status == "new")
    cases = f"{number} case{'s' if number != 1 else ''}"
    gone = f"{missing} missing" if missing else ""
    if failed:
        return f"{failed} of {cases} failed{gone and f', {gone}'}"
    if gone:
        return f"{gone}; {cases} ran"
    if fresh:
        return f"{fresh} of {cases} new, the others are well"
    if exit_code:
        return f"The run failed: exit code {exit_code}"
    return f"All is well: {cases}" if number else "No case was run"


# --- one case that failed ---------------------------------------------------------------------------------------------


def _case(entry: dict[str, Any]) -> Iterator[str]:
    status = escape(entry["verdict"])
    yield f'<div class="case {status}" id="{escape(entry["case"])}">'
    revision = f"revision {escape(entry['revision'])}" + (
        f", baseline {escape(entry['baseline_revision'])}" if entry.get("baseline_revision") else ""
    )
    yield f'<h3><span class="{status}">{status}</span> <code>{escape(entry["case"])}</code></h3>'
    yield f'<p>{escape(entry["reason"])} <span class="soft">· {revision} · {entry["seconds"]:.3f} s</span></p>'
    yield from _list("Changed since the baseline", entry["changes"])
    yield from _lines(entry["fault"]["details"] if entry.get("fault") else ())
    for buffer in entry["buffers"]:
        if buffer["verdict"] == "differ":
            yield from _buffer(buffer)
    yield from _list("Notes", entry["notes"])
    if entry.get("output"):
        yield f"<details><summary>What the kernels printed</summary><pre>{escape(entry['output'])}</pre></details>"
    yield "</div>"


def _buffer(buffer: dict[str, Any]) -> Iterator[str]:
    for comparison in buffer["comparisons"]:
        if comparison["same"]:
            continue
        message = comparison["message"] or f"{comparison['differing']} of {comparison['of']} differ"
        rule = f' <span class="soft">· rule: {escape(comparison["rule"])}</span>' if comparison["rule"] else ""
        yield f"<p><b>{escape(buffer['name'])}</b> ({escape(comparison['against'])}): {escape(message)}{rule}</p>"
        if comparison.get("first_wrong"):
            yield f"<p>{escape(comparison['first_wrong']['message'])}</p>"
        yield from _list("Looks like", [finding["message"] for finding in comparison["findings"]])
        yield from error_map_svg.svg(comparison["numbers"].get("picture", {}))
        yield from _elements(comparison)
    paths = [f"{kind}  {buffer[kind]}" for kind in ("dump", "baseline") if buffer[kind]]
    yield from _lines(paths)


def _elements(comparison: dict[str, Any]) -> Iterator[str]:
    worst = [("worst", comparison["worst"])] if comparison["worst"] else []
    others = [element for element in comparison["first"][:_MOST_SHOWN] if element != comparison["worst"]]
    rows = [*worst, *(("", element) for element in others)]
    if not rows:
        return
    head = "".join(f"<th>{name}</th>" for name in ("", "element", "baseline", "now", "abs", "rel", "ulp"))
    yield f'<div class="scroll"><table class="mono"><tr>{head}</tr>'
    for label, element in rows:
        where = f"[{element['index']}]{'.' + element['part'] if element['part'] else ''}"
        cells = [label, where, element["expected"] or "—", element["actual"] or "—"]
        errors = [_number(element[name]) for name in ("absolute", "relative", "ulp")]
        yield (
            "<tr>"
            + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
            + "".join(f'<td class="num">{escape(error)}</td>' for error in errors)
            + "</tr>"
        )
    yield "</table></div>"


def _number(value: object) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f'<p class="soft">{title}</p><ul>' + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _lines(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"<pre>{escape(chr(10).join(map(str, lines)))}</pre>"


# --- the rest ---------------------------------------------------------------------------------------------------------


def _new(cases: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield '<table><tr><th>job</th><th class="num">cases</th><th>buffers</th></tr>'
    for job, entries in groupby(cases, lambda entry: str(entry["job"])):
        group = list(entries)
        names = dict.fromkeys(b["name"] for entry in group for b in entry["buffers"] if b["verdict"] == "new")
        yield f'<tr><td><code>{escape(job)}</code></td><td class="num">{len(group)}</td>'
        yield f"<td>{escape(', '.join(names))}</td></tr>"
    yield "</table>"


def _variants(cases: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The other builds of each case: changed buffers, and source lines whose instructions differ."""
    varied = [entry for entry in cases if entry.get("variants")]
    if not varied:
        return
    yield "<h2>Variants: the same case, compiled with other settings</h2>"
    for entry in varied[:_MOST_OPEN]:
        first = escape(entry["variants"][0]["first"])
        yield f'<h3><code>{escape(entry["case"])}</code> <span class="soft">compared with {first}</span></h3>'
        head = '<th>variant</th><th>buffer</th><th class="num">changed</th><th class="num">ulp</th><th></th>'
        yield f'<div class="scroll"><table class="wide"><tr>{head}</tr>'
        for variant in entry["variants"]:
            yield from _variant(variant)
        yield "</table></div>"
    if varied[_MOST_OPEN:]:
        yield f'<p class="soft">{len(varied) - _MOST_OPEN} more are in results.json</p>'


def _variant(variant: dict[str, Any]) -> Iterator[str]:
    name = f"<td><code>{escape(variant['variant'])}</code></td>"
    for one in variant["buffers"]:
        broken = "" if one["same"] else "not equal under its rule"
        yield f'<tr>{name}<td>{escape(one["name"])}</td><td class="num">{one["changed"]} of {one["of"]}</td>'
        yield f'<td class="num">{_number(one["max_ulp"])}</td><td>{broken}</td></tr>'
    if not variant["buffers"]:
        same = f"the same program as {variant['same_as']}" if variant["same_as"] else "no bit changes"
        text = escape(variant["message"] or same)
        yield f'<tr>{name}<td colspan="4">{text}</td></tr>'
    for change in variant["instructions"]:
        before, after = (escape(", ".join(change[side])) or "—" for side in ("before", "after"))
        where = escape(f"{change['file']}:{change['line']}")
        yield f'<tr><td></td><td class="mono" colspan="4">{where}: {before} → {after}</td></tr>'


def _every(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    head = '<th>verdict</th><th>case</th><th>revision</th><th class="num">s</th><th>why</th>'
    yield f'<div class="scroll"><table class="wide"><tr>{head}</tr>'
    for entry in cases:
        status = escape(entry["verdict"])
        yield f'<tr><td class="status {status}">{status}</td><td><code>{escape(entry["case"])}</code></td>'
        yield f'<td>{escape(entry["revision"])}</td><td class="num">{entry["seconds"]:.3f}</td>'
        yield f"<td>{escape(entry['reason'])}</td></tr>"
    yield "</table></div>"
