"""Command line `python -m benchmarks [NAME…]`: run all or the named benchmarks and print one table of ratios."""

from __future__ import annotations

import argparse
import importlib
import sys
import time

from benchmarks.rows import Row, machine, table

BENCHMARKS = (
    "startup",
    "checking",
    "saxpy",
    "axpy",
    "reduction",
    "matmul",
    "histogram",
    "pocl",
    "cores",
    "cluster",
    "instructions",
    "dynamic_checks",
    "timing",
    "compiling",
    "variants",
    "space",
    "numba_simulator",
    "triton",
    "dumps",
    "compare",
    "tables",
    "page",
    "night",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(BENCHMARKS)}")
    parser.add_argument("--cases", type=int, metavar="N", help="of the benchmark `night` (10,000)")
    arguments = parser.parse_args()
    names = arguments.names or BENCHMARKS
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    print(machine(), file=sys.stderr)
    rows: list[Row] = []
    for name in names:
        start = time.perf_counter()
        given = {"cases": arguments.cases} if name == "night" and arguments.cases else {}
        rows += importlib.import_module(f"benchmarks.{name}").measure(**given)
        print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
    print(machine())
    print(table(rows))
    return int(any(row.verdict == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
