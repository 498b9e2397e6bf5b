"""The tests of pycuda on the virtual GPU: run them under `gpuregress exec`, and write a table.

    python -m tests.programs.pycuda_tests PYTHON SOURCES RESULTS [MODULE…]

PYTHON is an interpreter that has pycuda with CURAND, pytest and mako, SOURCES pycuda's unpacked source distribution,
RESULTS a folder for what came of each module, which a second call continues. MODULE (`test_driver`) runs these again.
nvcc and CURAND's headers are on their paths. A test that fails runs once more, alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
from junitparser import Error, Failure, JUnitXml, Skipped

from tests.programs.numba_tests import Outcome, in_cell
from tests.programs.program_page import write_section

_TOO_LARGE = ("big_array", "8gb", "16gb")
"""In the names of tests with arrays above 4 GB, which take 9 to 22 GB of the host's memory."""
_MESSAGE = re.compile(r"^gpuregress: (.*)$", re.MULTILINE)


def run_tests(python: Path, path: Path, record: Path, test: str = "") -> tuple[dict[str, Outcome], str]:
    """Run the tests of a file, or one of them; return their outcomes and what `exec` said first."""
    report = record.with_suffix(".xml")
    report.unlink(missing_ok=True)
    selected = f"{path}::{test}" if test else str(path)
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}", "-k", f"not ({' or '.join(_TOO_LARGE)})"]
    pytest = [str(python), "-m", "pytest", *options, selected]
    command = [sys.executable, "-m", "gpuregress", "exec", "--", *pytest]
    process = subprocess.run(command, cwd=record.parent, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    text = process.stdout + process.stderr
    record.with_suffix(".txt").write_bytes(text)
    message = _MESSAGE.search(text.decode("utf-8", "replace"))
    said = message[1] if message else ""
    if not report.exists():
        return {test or path.stem: Outcome(status="fail", reason=said or f"exit code {process.returncode}")}, said
    outcomes: dict[str, Outcome] = {}
    for case in (case for suite in JUnitXml.fromfile(str(report)) for case in suite):
        # The class of a test is named with the folders and the file, which end with the file's own name.
        classes = case.classname.partition(path.stem)[2].replace(".", "::").removeprefix("::")
        status, reason = "pass", ""
        for result in case.result:
            if isinstance(result, (Error, Failure)):
                status, reason = "fail", result.message or ""
            elif isinstance(result, Skipped):
                status, reason = "skip", result.message or ""
        outcomes[f"{classes}::{case.name}" if classes else case.name] = Outcome(status=status, reason=reason)
    return outcomes, said


def run_module(python: Path, path: Path, record: Path) -> dict[str, Outcome]:
    """Run the tests of a file, and those that fail once more, alone."""
    outcomes, _ = run_tests(python, path, record)
    for test, outcome in list(outcomes.items()):
        if outcome.status != "fail" or len(outcomes) == 1:
            continue
        alone, said = run_tests(python, path, record, test)
        outcomes.update(alone)
        if said and outcomes[test].status == "fail":
            outcomes[test] = Outcome(status="fail", reason=said)
    return outcomes


def section(results: dict[str, dict[str, Outcome]], version: str) -> str:
    """Write the text of the section."""
    rows: list[str] = []
    failing: list[str] = []
    sums: Counter[str] = Counter()
    for module, outcomes in results.items():
        counts = Counter(outcome.status for outcome in outcomes.values())
        sums.update(counts)
        rows.append(f"| {module} | {counts['pass']} | {counts['skip']} | {counts['fail']} |")
        failing += [
            f"| `{module}::{test}` | {in_cell(outcome.reason)} |"
            for test, outcome in outcomes.items()
            if outcome.status == "fail"
        ]
    run = sums["pass"] + sums["fail"]
    return f"""The tests in the source distribution of pycuda {version}, unchanged; none of them needs OpenGL.
`python -m tests.programs.pycuda_tests PYTHON SOURCES RESULTS` writes this section. Each module is a
process of its own. A test that fails runs once more, alone. Of {run} tests that are not skipped,
**{sums["pass"]} pass**.

| module | pass | skipped | fail |
| --- | ---: | ---: | ---: |
{chr(10).join(rows)}

| test that fails | why |
| --- | --- |
{chr(10).join(failing)}

Not tried: tests with {", ".join(f"`{word}`" for word in _TOO_LARGE)} in their names, whose arrays above 4 GB take 9 to
22 GB of the host's memory.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    arguments = parser.parse_args()
    folder = arguments.results.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(arguments.sources.absolute().glob("test/test_*.py"))
    for path in paths:
        record = folder / f"{path.stem}.json"
        if path.stem in arguments.modules or (not arguments.modules and not record.exists()):
            outcomes = run_module(arguments.python.absolute(), path, record)
            record.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes)))
            sys.stdout.write(f"{path.stem}: {Counter(outcome.status for outcome in outcomes.values())}\n")
    records = {path.stem: folder / f"{path.stem}.json" for path in paths}
    results = {
        module: msgspec.json.decode(record.read_bytes(), type=dict[str, Outcome])
        for module, record in records.items()
        if record.exists()
    }
    metadata = (arguments.sources / "PKG-INFO").read_text(encoding="utf-8")
    version = metadata.partition("\nVersion: ")[2].partition("\n")[0]
    write_section("Tests of pycuda", section(results, version))


if __name__ == "__main__":
    main()
