"""The unit tests of numba-cuda on the virtual GPU: run them under `gpuregress exec`, and write a table.

    python -m tests.programs.numba_tests PYTHON RESULTS [--limit SECONDS] [MODULE…]

PYTHON is an interpreter that has numba-cuda, RESULTS a folder for what came of each module, which a second call
continues. MODULE (`cudapy.test_ufuncs`) runs these again. Each module is a process of its own. A process that reaches
the limit is ended, and the tests that are left run in further ones. A test that fails runs once more, alone. The
section of docs/reference/program-samples.md is written at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec

from gpuregress.gpu.records import Record
from tests.programs.program_page import write_section

PACKAGE = "numba.cuda.tests"
FOLDERS = ("core", "cudadrv", "cudapy", "cudasim", "doc_examples", "nocuda", "nrt")
_RUNNER = Path(__file__).with_name("numba_runner.py")
_ROOT = Path(__file__).parents[2]
_OF_CLASS = re.compile(r"(?:setUp|tearDown)(?:Class|Module) \((?P<name>[\w.]+)\)")
_MESSAGE = re.compile(r"gpuregress: (?:numba::\S+: )?(.*)")
"""What `exec` says first of a program, without the name of a kernel."""
NOT_ENDED = "not ended"
_LONGEST = 110


class Outcome(Record):
    """What came of a test: `pass`, `skip`, `fail` or `not ended`, and why."""

    status: str
    reason: str = ""


def modules(python: Path) -> list[str]:
    """List the modules of tests, without the package's name."""
    where = f"import {PACKAGE} as tests; print(tests.__path__[0])"
    folder = Path(_answer(python, where))
    return [f"{name}.{path.stem}" for name in FOLDERS for path in sorted((folder / name).glob("test_*.py"))]


def _answer(python: Path, code: str) -> str:
    """What an interpreter prints for a line of code."""
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def run_module(python: Path, module: str, record: Path, limit_s: int) -> dict[str, Outcome]:
    """Run the tests of a module, and those that fail once more, alone."""
    name = f"{PACKAGE}.{module}"
    outcomes: dict[str, Outcome] = {}
    waiting = [name]
    while waiting:
        waiting = run_tests(python, waiting, record, limit_s, outcomes)
    for test, outcome in list(outcomes.items()):
        if outcome.status == "fail" and len(outcomes) > 1:
            run_tests(python, [test], record, limit_s, outcomes)
            text = record.with_suffix(".txt").read_text(encoding="utf-8", errors="replace")
            message = _MESSAGE.search(text)
            if message and outcomes[test].status == "fail":
                outcomes[test] = Outcome(status="fail", reason=message[1])
    return outcomes


def run_tests(python: Path, tests: list[str], record: Path, limit_s: int, outcomes: dict[str, Outcome]) -> list[str]:
    """Run tests in one process and note their outcomes; return the tests that a further process has to run."""
    record.unlink(missing_ok=True)
    command = [sys.executable, "-m", "gpuregress", "exec", "--", str(python), str(_RUNNER), str(record), *tests]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    output = record.with_suffix(".txt")
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
    listed: list[str] = []
    started: list[str] = []
    ended: dict[str, Outcome] = {}
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    for event, test, reason in map(json.loads, lines):
        if event == "list":
            listed.append(test)
        elif event == "start":
            started.append(test)
        elif event != "pass" or test not in ended:  # One part of a test may have failed before.
            ended[test] = Outcome(status=event, reason=reason)
    if not listed:
        text = output.read_text(encoding="utf-8", errors="replace").splitlines()
        outcomes[tests[0]] = Outcome(status="fail", reason=text[-1] if text else "no test was found")
        return []
    of_classes = {match["name"]: ended.pop(test) for test in list(ended) if (match := _OF_CLASS.match(test))}
    for test in listed:
        parent = test.rpartition(".")[0]
        outcome = of_classes.get(parent) or of_classes.get(parent.rpartition(".")[0])
        if outcome is not None and test not in ended:
            ended[test] = outcome
    outcomes.update(ended)
    waiting = [test for test in listed if test not in ended]
    if not waiting:
        return []
    running = started[-1] if started and started[-1] in waiting else waiting[0]
    if code is None and len(started) > 1:
        return [running, *(test for test in waiting if test != running)]
    reason = f"{limit_s} s" if code is None else f"the process ended with {code}"
    outcomes[running] = Outcome(status=NOT_ENDED if code is None else "fail", reason=reason)
    return [test for test in waiting if test != running]


def section(folder: Path, names: list[str], version: str) -> str:
    """Write the text of the section."""
    rows: list[str] = []
    failing: list[str] = []
    sums: Counter[str] = Counter()
    for group in FOLDERS:
        counts: Counter[str] = Counter()
        modules_of_group = [name for name in names if name.startswith(f"{group}.")]
        for module in modules_of_group:
            outcomes = msgspec.json.decode((folder / f"{module}.json").read_bytes(), type=dict[str, Outcome])
            counts.update(outcome.status for outcome in outcomes.values())
            failing += [
                f"| `{test.removeprefix(f'{PACKAGE}.')}` | {in_cell(outcome.reason)} |"
                for test, outcome in outcomes.items()
                if outcome.status in ("fail", NOT_ENDED)
            ]
        sums.update(counts)
        numbers = [counts["pass"], counts["skip"], counts["fail"] + counts[NOT_ENDED]]
        rows.append(f"| {group} | {len(modules_of_group)} | {' | '.join(map(str, numbers))} |")
    run = sums["pass"] + sums["fail"] + sums[NOT_ENDED]
    return f"""The unit tests in numba-cuda {version}. `python -m tests.programs.numba_tests PYTHON RESULTS`
writes this section. Each module is a process of its own. A test that fails runs once more, alone.
Of {run} tests that are not skipped, **{sums["pass"]} pass**.

| folder | modules | pass | skipped | fail |
| --- | ---: | ---: | ---: | ---: |
{chr(10).join(rows)}

| test that fails | why |
| --- | --- |
{chr(10).join(failing)}
"""


def in_cell(reason: str) -> str:
    """Shorten a reason to a cell of a table."""
    line = " ".join(reason.split()).replace("|", "/")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--limit", type=int, default=400, help="seconds of a process")
    arguments = parser.parse_args()
    folder = arguments.results.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    names = modules(arguments.python)
    for module in arguments.modules or names:
        path = folder / f"{module}.json"
        if path.exists() and not arguments.modules:
            continue
        outcomes = run_module(arguments.python, module, folder / f"{module}.jsonl", arguments.limit)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes)))
        counts = dict.fromkeys(("pass", "skip", "fail", NOT_ENDED), 0)
        for outcome in outcomes.values():
            counts[outcome.status] += 1
        sys.stdout.write(f"{module}: {counts}\n")
        sys.stdout.flush()
    version = "import importlib.metadata as packages; print(packages.version('numba-cuda'))"
    write_section("Tests of numba-cuda", section(folder, names, _answer(arguments.python, version)))


if __name__ == "__main__":
    main()
