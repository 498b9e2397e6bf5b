"""What is known of each kernel of `kernels/`, kept as tables, and docs/contributing/evidence.md, which is made of them.

    gpuregress audit --json audit.json
    python -m tests.kernels.evidence audit.json        takes what an audit found: cases, checks, schedules, …
    gpuregress mutate JOB --json mutants.json
    python -m tests.kernels.evidence mutants.json …    takes the mutants of jobs, and lists the survivors
    python -m tests.kernels.evidence                   writes the page

The column `why` of `survivors.tsv` is written by hand; it is kept while job, place and change stay the same.

The counters of Nsight Compute on a GPU are among those of `tests/virtual_gpu/measured/`, as `NSIGHT_TEXT`
describes them; `planted/` has the bugs.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuregress.lab.mutating.trials import EQUIVALENT, ONLY_CHECKED
from tests.kernels.planted import ROOT as ROOT
from tests.kernels.planted import planted_bugs

FOLDER = Path(__file__).parent
PAGE = ROOT / "docs" / "contributing" / "evidence.md"
_NONE = "-"
_MOST_CHANGE = 80
KINDS = {
    "data race": "results are right here, and `checks: {device: [races]}` in the job notices it.",
    "equivalent": "the results are the same for every input that the job may have.",
    "needs another input": "a gap of the job: no case has this input.",
    "needs another order": "right in the usual order of threads alone; `schedules: 8` in the job notices it.",
    "not watched": "the CPU device has no such effect, and no check looks at it.",
    "never executed, within the tolerance": "as [mutation](../reference/mutants.md#why-a-mutant-survives) explains.",
}
"""Kinds of reasons why mutants survive, as `why` begins in `survivors.tsv`."""
Row = dict[str, str]


@dataclass(frozen=True)
class Table:
    """A table of the folder: its columns, the first of which are the key of a row."""

    name: str
    columns: tuple[str, ...]
    keys: int = 1

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}.tsv"

    def rows(self) -> list[Row]:
        """The rows, in their order."""
        with self.path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    def text(self, rows: Iterable[Mapping[str, str]]) -> str:
        """The file with these rows in the order of their keys."""
        out = io.StringIO()
        writer = csv.DictWriter(out, self.columns, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: [row[name] for name in self.columns[: self.keys]]))
        return out.getvalue()

    def update(self, rows: Iterable[Row]) -> None:
        """Replace the rows with the same keys, and keep the others."""
        before = self.rows() if self.path.exists() else ()
        known = {tuple(row[name] for name in self.columns[: self.keys]): row for row in (*before, *rows)}
        self.path.write_text(self.text(known.values()), encoding="utf-8")


EXAMINED = Table("examined", ("job", "source", "cases", "checks", "schedules", "coverage", "inputs"))
MUTANTS = Table("mutants", ("job", "mutants", "tried", "killed", "timed_out", "survived", "races", "not_counted"))
SURVIVORS = Table("survivors", ("job", "file", "line", "operator", "change", "number", "reason", "why"), 5)
_COUNTERS = ROOT / "tests" / "virtual_gpu" / "measured" / "nsight_compute_costs.tsv"


# --- what the commands of gpuregress say ----------------------------------------------------------------------


def of_audit(report: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[Row]:
    """The rows of `examined.tsv` that an audit's JSON gives.

    Args:
        report: the JSON.
        sources: job → its kernels' files.
    """
    parts = {part["name"]: {one["job"]: one for one in part["jobs"]} for part in report["parts"]}
    for job, cases in parts["cases"].items():
        told = {name: _told(name, jobs[job]) for name, jobs in parts.items()}
        yield {
            "job": job,
            "source": sources[job],
            "cases": cases.get("done", "").removesuffix(" cases").removesuffix(" case"),
            "checks": told["checks"],
            "schedules": told["schedules"],
            "coverage": told["coverage"],
            "inputs": told["fuzz"],
        }


def _told(part: str, one: Mapping[str, Any]) -> str:
    """The result of a part in a few words: that nothing was found, or how much was."""
    if not one.get("applies", True):
        return _NONE
    if one.get("share") is None:
        return "not examined"
    evidence = one.get("evidence", ())
    if part == "coverage":
        share = one.get("examined", 1.0)
        text = re.sub(r",? \d+ of \d+ (loops|bounds)", "", str(one.get("done", "")))
        return f"{text} ({share:.0%} of the cases)" if share < 1.0 else text
    found = sum(each["kind"] != "proven" for each in evidence)
    part_done = f" ({one['done']})" if one.get("examined", 1.0) < 1.0 and part in ("checks", "schedules") else ""
    if part == "schedules":
        return f"{'one result' if not found else f'{found} differ'}{part_done}"
    if part == "fuzz":
        return f"{one['done'].removesuffix(' inputs')}, {f'{found} kinds of failure' if found else 'no failure'}"
    named = (re.match(r"\S+: (\w+): ", each["text"]) for each in evidence if each["kind"] == "luck")
    kinds = Counter(one[1] if one else "note" for one in named)
    left = ", in part not watched" if any(each["kind"] == "unnoticed" for each in evidence) else ""
    return (", ".join(f"{kind} {count}" for kind, count in kinds.items()) or "none") + left + part_done


def of_mutants(report: Mapping[str, Any]) -> Row:
    """The row of `mutants.tsv` that the JSON of `mutate` gives."""
    alive = _alive(report)
    return {
        "job": report["job"],
        "mutants": str(report["mutants"]),
        "tried": str(report["tried"]),
        "killed": str(len(report["killed"])),
        "timed_out": str(len(report["timed_out"])),
        "survived": str(len(alive)),
        "races": str(sum(one["reason"] == ONLY_CHECKED for one in alive)),
        "not_counted": str(report["equivalent"] + len(report["not_valid"])),
    }


def of_survivors(report: Mapping[str, Any], known: Iterable[Row]) -> list[Row]:
    """The rows of `survivors.tsv` after a report of `mutate`: those of its job are new, with the reasons known so far.

    Args:
        report: the JSON.
        known: the rows until now.
    """
    rows = {_key(row): row for row in known}
    found: dict[tuple[str, ...], Row] = {}
    for one in _alive(report):
        change = _shortened(one["change"])
        row = {"job": report["job"], "file": one["file"], "line": str(one["line"]), "operator": one["operator"]}
        row |= {"change": change, "number": "1", "reason": one["reason"]}
        key = _key(row)
        if key in found:
            found[key]["number"] = str(int(found[key]["number"]) + 1)
        else:
            found[key] = {**row, "why": rows[key]["why"] if key in rows else ""}
    return [*(row for row in rows.values() if row["job"] != report["job"]), *found.values()]


def _shortened(change: str) -> str:
    if len(change) <= _MOST_CHANGE:
        return change
    start = f"{change[:_MOST_CHANGE].rstrip()} …"
    return f"{start}`" if start.count("`") % 2 else start


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in SURVIVORS.columns[: SURVIVORS.keys])


def _alive(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in report["survived"] if one["reason"] not in EQUIVALENT]


def counters() -> list[Row]:
    """Kernel and job → the costs that this device and the card counted: one number where they are equal."""
    with _COUNTERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        {
            "kernel": row["kernel"],
            "job": row["job"],
            "requests": _both(row, "requests"),
            "sectors": _both(row, "sectors") + _local(row),
            "bank conflicts": _both(row, "bank_conflicts"),
            "instructions PTX / SASS": f"{int(row['instructions']) / int(row['instructions_card']):.2f}",
        }
        for row in sorted(rows, key=lambda row: (row["kernel"], row["job"]))
    ]


def _both(row: Mapping[str, str], name: str) -> str:
    own, card = int(row[name]), int(row[f"{name}_card"])
    return f"{own:,}" if own == card else f"**{own:,}** / {card:,}"


def _local(row: Mapping[str, str]) -> str:
    own = _both(row, "local_sectors")
    return f" + {own} local" if own != "0" else ""


# --- the page ----------------------------------------------------------------------


def page() -> str:
    """The page, of the tables of this folder and of the planted bugs."""
    examined, mutants, nsight = EXAMINED.rows(), {row["job"]: row for row in MUTANTS.rows()}, counters()
    survivors = [*_survivors(SURVIVORS.rows(), mutants)]
    return "\n".join((*_head(), *_jobs(examined, mutants, nsight), *survivors, *_planted(), *_costs(nsight), ""))


def _head() -> Iterator[str]:
    yield "# The kernels of this repository"
    yield ""
    yield "What gpuregress knows of each job of [configs/](../../configs). This page is written by `python -m"
    yield "tests.kernels.evidence` from the tables in `tests/kernels/evidence/`, which keep what the commands said."
    yield ""
    yield "- **checks**: findings of `gpuregress run --check all` ([checks](../how-to/races.md))."
    yield "- **schedules**: results under 8 orders of blocks, warps and lanes ([schedules](../how-to/schedules.md))."
    yield "- **lines, branches**: what the cases execute ([coverage](../how-to/coverage.md))."
    yield "- **other inputs**: inputs at the edges that were tried, kinds of failure ([fuzzing](../how-to/fuzzing.md))."
    yield "- **mutants**: those that were tried, of those that there are ([mutants](../how-to/mutation.md)). The score"
    yield "  counts killed and timed-out ones as noticed, and leaves out equivalent ones and those that are not"
    yield "  valid. [Survivors](#surviving-mutants) that `--check races` notices are counted apart, with the score that"
    yield "  the job has with this check."
    yield "- **costs**: counters that equal Nsight Compute's on an H200, of those that were compared; see"
    yield "  [the numbers](#costs-beside-nsight-computes)."
    yield ""


def _jobs(examined: Sequence[Row], mutants: Mapping[str, Row], nsight: Sequence[Row]) -> Iterator[str]:
    heads = ("job", "source", "cases", "checks", "schedules", "lines, branches", "other inputs")
    more = ("mutants", "killed", "timed out", "survived", "of these races", "score", "with races", "costs")
    yield from _header((*heads, *more))
    for row in examined:
        one = mutants.get(row["job"])
        cells = (f"`{row['job']}`", f"[{Path(row['source']).name}](../../{row['source']})", row["cases"], row["checks"])
        yield _line(
            (*cells, row["schedules"], row["coverage"], row["inputs"], *_mutants(one), _equal(row["job"], nsight))
        )
    yield _line(
        ("together", "", str(sum(_first(row["cases"]) for row in examined)), *[""] * 4, *_mutants(_sum(mutants)), "")
    )
    yield ""


def _mutants(one: Row | None) -> tuple[str, ...]:
    if one is None:
        return (_NONE,) * 7
    killed, late, alive, races = (int(one[name]) for name in ("killed", "timed_out", "survived", "races"))
    counted = killed + late + alive
    scores = [f"{noticed / counted:.0%}" if counted else _NONE for noticed in (killed + late, killed + late + races)]
    return f"{one['tried']} of {one['mutants']}", str(killed), str(late), str(alive), str(races), *scores


def _sum(mutants: Mapping[str, Row]) -> Row:
    names = ("mutants", "tried", "killed", "timed_out", "survived", "races")
    return {name: str(sum(int(row[name]) for row in mutants.values())) for name in names}


def _first(text: str) -> int:
    found = re.match(r"\d+", text)
    return int(found[0]) if found else 0


def _equal(job: str, nsight: Sequence[Row]) -> str:
    """The number of counters of a job's kernels that equal the card's: `3 of 3 equal`."""
    cells = [row[name] for row in nsight if row["job"] == job for name in ("requests", "sectors", "bank conflicts")]
    return f"{sum('/' not in cell for cell in cells)} of {len(cells)} equal" if cells else _NONE


def _survivors(rows: Sequence[Row], mutants: Mapping[str, Row]) -> Iterator[str]:
    yield "## Surviving mutants"
    yield ""
    yield "Each mutant that no case of its job notices, with the reason. Those of a kernel in Python are of its PTX;"
    yield "`.ptx#2` is that of another choice of constants. Proven equivalents are not listed: they do not count."
    yield ""
    for name, text in KINDS.items():
        yield f"- **{name}**: {text}"
    yield ""
    yield from _header(("job", "line", "mutant", "reason"))
    for row in sorted(rows, key=lambda row: (row["job"], row["file"], int(row["line"] or 0))):
        times = f" ({row['number']} times)" if row["number"] != "1" else ""
        change = f"{row['operator']}: {row['change']}{times}".replace("|", "\\|")
        yield _line((f"`{row['job']}`", f"{Path(row['file']).name}:{row['line']}", change, _why(row)))
    yield ""
    unlisted = [
        job for job, row in mutants.items() if row["survived"] != "0" and job not in {row["job"] for row in rows}
    ]
    if unlisted:
        yield f"Of {', '.join(f'`{job}`' for job in unlisted)} the number alone is known."
        yield ""


def _why(row: Row) -> str:
    if row["reason"] == ONLY_CHECKED:
        return "data race"
    return row["why"] or f"{row['reason']}; not explained"


def _planted() -> Iterator[str]:
    yield "## Bugs planted by hand"
    yield ""
    yield "Each kernel has a bug of a kind that no operator of `mutate` makes. The case of a committed job notices it:"
    yield "`python -m tests.kernels.planted` plants all of them and runs the cases."
    yield ""
    yield from _header(("kernel", "bug", "noticed by"))
    for bug in planted_bugs().values():
        link = f"[{bug.path.name}](../../{bug.path.relative_to(ROOT)})"
        yield _line(
            (f"[{bug.file.removeprefix('kernels/')}](../../{bug.file})", f"{bug.mistake} ({link})", f"`{bug.case}`")
        )
    yield ""


NSIGHT_TEXT = """\
One number: this device and the GPU counted the same. Two: this device's, and the GPU's. The counters are those of
Nsight Compute 2025.3 on an H200, with the machine code of the same PTX, for 81 cases of `kernels/` (all of the Triton
jobs and of `langdon.cu`, two of each other job): 357 of 372 are equal. Requests are those of global memory and, with
atomic operations, of both kinds (`l1tex__t_requests_pipe_lsu_mem_global_op_ld`, `_st`, `_atom`, `_red`); sectors
likewise (`l1tex__t_sectors_…`), and those of local memory; bank conflicts are
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared` (37 patterns of 4, 8 and 16 bytes, all equal); SASS instructions
`smsp__inst_executed`. [Costs](../how-to/costs.md#what-is-counted) says what is counted. The differences:

- `compact` appends in the order in which its warps come to an atomic counter. On a GPU that is another order, so runs
  of slots begin at other places. With the slots of the GPU, the sectors of four launches are equal.
- `cluster`: arrivals from other blocks meet the block's own requests, and these conflicts are another number in each
  launch (254 and 241 of the same one). A request for the block's own memory through an address of the cluster has the
  usual conflicts; if several lanes update one word, each update is a step of its own.
- `strided` at n = 1000: the assembler unrolls the loop, and lanes that leave it early meet the others later.
- `matmul` (Triton) with three stages loads by `cp.async`. A GPU has counters of their own for these (`…_op_ldgsts`),
  which were not read.
- `matmul_descriptors`: a GPU copies each tensor map that the kernel makes by a request of four sectors
  (`tensormap.cp_fenceproxy`), which is not counted here.
- Instructions: the assembler makes 0.8 to 1.5 SASS instructions of a PTX instruction, more in tiny kernels.
- Branches: the assembler turns most short ones into predicated instructions. The GPU's counter of divergent branches
  (`smsp__sass_branch_targets_threads_divergent`) equals this device's only where the branch is left (`heat_step`).
- Matrix instructions are equal: `wgmma_gemm` 16 and 48, `wgmma_tma_gemm` and `attention` 64 and 384.

Kernels that fault are not in the table."""
"""What the table of costs has, and why some counters differ."""


def _costs(nsight: Sequence[Row]) -> Iterator[str]:
    yield "## Costs beside Nsight Compute's"
    yield ""
    yield from NSIGHT_TEXT.splitlines()
    yield ""
    yield from _header([*nsight[0]])
    for row in nsight:
        yield _line((f"`{row['kernel']}`", *[*row.values()][1:]))
    yield ""


def _header(names: Sequence[str]) -> Iterator[str]:
    yield _line(names)
    yield "|" + "---|" * len(names)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
