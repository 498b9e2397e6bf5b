"""NVIDIA's examples of cuda-python on the virtual GPU: run them under `gpuregress exec`, and write a table.

    python -m tests.programs.python_examples PYTHON CHECKOUT RESULTS [NAME…]

PYTHON is an interpreter that has cuda-core, cuda-bindings and numpy, CHECKOUT a clone of NVIDIA/cuda-python, RESULTS a
folder for what came of each, which a second call continues. Names are those of the files without `.py`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec

from tests.programs.program_page import write_section
from tests.programs.samples import Result, run

_FOLDERS = ("cuda_core/examples", "cuda_bindings/examples")
_LEFT_OUT = {
    r"\bpyglet\b|gl_interop": "graphics",
    r"^\s*(?:import|from) cupy\b": "CuPy, a library of machine code",
    r"^\s*(?:import|from) torch\b": "PyTorch, a library of machine code",
    r"bindings import nvml|\bnvml\.": "NVML, which tells of NVIDIA's driver",
}


def examples(checkout: Path) -> dict[str, Path]:
    """Find the examples by their names: the files that can be started."""
    found: dict[str, Path] = {}
    for folder in _FOLDERS:
        for path in sorted((checkout / folder).rglob("*.py")):
            if "__main__" in path.read_text(encoding="utf-8"):
                found[path.stem] = path
    return found


def left_out(path: Path) -> str:
    """Say why an example is not tried; "" where it is."""
    text = path.read_text(encoding="utf-8")
    return ", ".join(reason for pattern, reason in _LEFT_OUT.items() if re.search(pattern, text, re.MULTILINE))


def section(paths: dict[str, Path], results: dict[str, Result], commit: str) -> str:
    """Write the text of the section."""
    rows, succeeded = [], 0
    for name, result in results.items():
        has_succeeded = not result.problem and result.program == result.exec == 0
        succeeded += has_succeeded
        codes = ("", "") if result.problem else (str(result.program), str(result.exec))
        reason = (result.problem or result.reason)[:110]
        rows.append(f"| `{name}` | {codes[0]} | {codes[1]} | {'yes' if has_succeeded else '**no**'} | {reason} |")
    reasons = [f"`{name}` ({left_out(path)})" for name, path in paths.items() if name not in results]
    not_tried = textwrap.fill(f"Not tried: {', '.join(reasons)}.", 98, break_long_words=False, break_on_hyphens=False)
    return f"""The examples of [cuda-python](https://github.com/NVIDIA/cuda-python) at {commit}, unchanged.
`python -m tests.programs.python_examples PYTHON CHECKOUT RESULTS` writes this section. Of
{len(rows)} examples, **{succeeded} exit with 0 and without a message of `exec`**.

| example | program | `exec` | as on a GPU | what `exec` said first |
| --- | --- | --- | --- | --- |
{chr(10).join(rows)}

{not_tried}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these again")
    arguments = parser.parse_args()
    folder = arguments.results.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    results = msgspec.json.decode(path.read_bytes(), type=dict[str, Result]) if path.exists() else {}
    paths = examples(arguments.checkout.absolute())
    for name, example in paths.items():
        if left_out(example) or (name in results and name not in arguments.names):
            continue
        results[name] = run([str(arguments.python.absolute()), str(example)], folder)
        path.write_bytes(msgspec.json.encode(results))
        sys.stdout.write(f"{name}: {results[name]}\n")
    command = ["git", "-C", str(arguments.checkout), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    write_section("Examples of cuda-python", section(paths, results, commit))


if __name__ == "__main__":
    main()
