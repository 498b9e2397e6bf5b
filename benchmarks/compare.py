"""Comparison of two dumps against GNU diff, numdiff, sort, polars with numpy, and a plain hash of the bytes."""

from __future__ import annotations

import importlib.util
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import xxhash

from benchmarks.rows import Row, median_seconds, missing
from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Comparison, Rule
from gpuregress.foundation.storage import digest_file
from gpuregress.judge import compare
from gpuregress.store.dumps import line_diff, reader, writer

COUNT = 5_000_000
LARGE = 100_000_000
DENSE = 50_000_000
RECORD_ROWS, UNMATCHED = 1_000_000, 1000
FLOAT = dtypes.parse("float32")
Array = npt.NDArray[np.float32]


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(0)
        base = rng.standard_normal(COUNT, np.float32)
        changed = base.copy()
        changed[:: COUNT // (COUNT // 10_000)] *= np.float32(1.001)
        for file, array in (("base", base), ("changed", changed), ("permuted", rng.permutation(base)), ("same", base)):
            _dump(folder / file, array)
        return [*_sparse(folder), *_permuted(folder), *_identical(folder), _records(), _dense(folder), *_memory(folder)]


def _dump(path: Path, array: Array) -> None:
    writer.write(path, array, FLOAT, array.shape, known={})


def diff_files(first: Path, second: Path, rule: Rule) -> Comparison:
    """Compare a pair of dumps as `gpuregress diff` does."""
    header = reader.read_header(first)
    request = compare.ComparisonRequest("x", header.element_type, header.shape, rule)
    if not compare.is_in_order(rule):
        return compare.compare(request, reader.read(first).array, reader.read(second).array)
    run = compare.InOrder(request, every=compare.needs_all(rule))
    for piece in line_diff.pairs(first, second, every=compare.needs_all(rule)):
        run.add(piece.indices, piece.expected, piece.actual)
    return run.finish()


def _speed(seconds: float) -> str:
    return f"{COUNT / seconds / 1e6:,.3g} M/s"


def _sparse(folder: Path) -> list[Row]:
    first, second = folder / "base", folder / "changed"
    rule = Rule(rtol=1e-6)
    assert diff_files(first, second, rule).differing == COUNT // 10_000
    ours = median_seconds(lambda: diff_files(first, second, rule), 7)
    rows = []
    for name, goal, peer in (
        ("GNU diff", 100, lambda: _run("diff", str(first), str(second))),
        ("polars + numpy", 10, lambda: _polars(first, second)),
        ("numdiff", 200, lambda: _run("numdiff", "-r", "1e-6", str(first), str(second))),
    ):
        what = f"5 M float32, 1 in 10,000 differs: {name}"
        if name == "numdiff" and not shutil.which("numdiff"):
            rows.append(missing(what, "numdiff is not installed"))
            continue
        if name == "polars + numpy" and importlib.util.find_spec("polars") is None:
            rows.append(missing(what, "pip install polars"))
            continue
        theirs = median_seconds(peer, 3, warmup=1)
        rows.append(Row(what, _speed(ours), _speed(theirs), theirs / ours, goal))
    return rows


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode > 1:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}")


def _polars(first: Path, second: Path) -> None:
    import polars as pl  # noqa: PLC0415 - a peer, which need not be installed

    sides = [
        pl.read_csv(path, has_header=False, skip_rows=1, schema={"value": pl.Float32})["value"].to_numpy()
        for path in (first, second)
    ]
    off = np.abs(sides[1] - sides[0]) > 1e-6 * np.abs(sides[0])
    assert np.count_nonzero(off) == COUNT // 10_000


def _permuted(folder: Path) -> list[Row]:
    first, second = folder / "base", folder / "permuted"
    rule = Rule(order="any")
    assert diff_files(first, second, rule).same
    ours = median_seconds(lambda: diff_files(first, second, rule), 5)

    def sort_and_diff() -> None:
        for path in (first, second):
            _run("sort", "-o", str(path) + ".sorted", str(path))
        _run("diff", str(first) + ".sorted", str(second) + ".sorted")

    theirs = median_seconds(sort_and_diff, 1, warmup=0)
    return [Row("5 M float32, permuted, order: any: sort, then diff", _speed(ours), _speed(theirs), theirs / ours, 5)]


def _hash(path: Path) -> str:
    """Plain xxh3 over the file's bytes, mapped."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return xxhash.xxh3_128_hexdigest(data)


def _identical(folder: Path) -> list[Row]:
    first, second = folder / "base", folder / "same"
    hashed = median_seconds(lambda: (_hash(first), _hash(second)), 9)
    walked = median_seconds(lambda: diff_files(first, second, Rule()), 9)
    digested = median_seconds(lambda: digest_file(first) == digest_file(second), 9)
    what = "5 M float32, identical, {}: plain xxh3 of both"
    return [
        Row(what.format("by digests of the files"), _speed(digested), _speed(hashed), hashed / digested, 0.6),
        Row(
            what.format("by the walk"),
            _speed(walked),
            _speed(hashed),
            hashed / walked,
            None,
            "only where neither digest is on record; a run's are",
        ),
    ]


def _records() -> Row:
    """A million rows of three numbers, shuffled; a thousand are off within the tolerance, and one beyond it."""
    kind = dtypes.parse("{id:int32,x:float32,y:float64}")
    rng = np.random.default_rng(1)
    rows = np.zeros(RECORD_ROWS, kind.storage)
    rows["id"], rows["x"] = rng.integers(0, 1000, RECORD_ROWS), rng.standard_normal(RECORD_ROWS)
    rows["y"] = rng.standard_normal(RECORD_ROWS)
    moved = rng.permutation(rows)
    moved["y"][:UNMATCHED] += 5e-7
    moved["y"][0] += 1
    request = compare.ComparisonRequest("rows", kind, rows.shape, Rule(order="any", atol=1e-6))
    comparison = compare.compare(request, rows, moved)
    assert (comparison.only_expected, comparison.only_actual) == (1, 1)
    seconds = median_seconds(lambda: compare.compare(request, rows, moved), 3, warmup=0)
    what = "1 M records by exact matching, 1,000 unmatched"
    return Row(what, f"{seconds:.2f} s", "limit 10 s", 10 / seconds, 1)


def _dense(folder: Path) -> Row:
    """The whole command on 200 MB of which every element differs, with its findings and its picture."""
    what = "50 M float32, all differ: gpuregress diff"
    if shutil.disk_usage(folder).free < 3 << 30:
        return missing(what, "less than 3 GiB of disk free")
    base = np.random.default_rng(3).standard_normal(DENSE, np.float32)
    paths = folder / "dense.1", folder / "dense.2"
    for path, factor in zip(paths, (1, 1.25), strict=True):
        _dump(path, base * np.float32(factor))
    start = time.perf_counter()
    command = [sys.executable, "-m", "gpuregress", "diff", *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds, megabytes = time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e6
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1
    for path in paths:
        path.unlink()
    ours = f"{seconds:.1f} s, {megabytes:,.0f} MB"
    return Row(what, ours, "limit 15 s, 1,000 MB", min(15 / seconds, 1000 / megabytes), 1)


def _memory(folder: Path) -> list[Row]:
    """The peak of a process of its own, less what it has before it starts, against twice one file."""
    if shutil.disk_usage(folder).free < 5 << 30:
        return [missing("100 M float32: memory", "less than 5 GiB of disk free")]
    rng = np.random.default_rng(2)
    base = rng.standard_normal(LARGE, np.float32)
    _dump(folder / "large", base)
    base[::10_000] += 1
    _dump(folder / "large_changed", base)
    del base
    size = (folder / "large").stat().st_size
    rows = []
    for order in ("indexed", "any"):
        code = f"from benchmarks.compare import peak; peak({str(folder)!r}, {order!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        grown, seconds = (float(word) for word in done.stdout.split())
        ours, limit = f"{grown / 1e6:,.0f} MB, {seconds:.1f} s", f"limit {2 * size / 1e6:,.0f} MB"
        rows.append(Row(f"100 M float32, order: {order}: memory", ours, limit, 2 * size / grown, 1))
    return rows


def peak(folder: str, order: str) -> None:
    """Prints the bytes that comparing two large dumps adds to this process, without mapped files, and the seconds."""
    before, stop = _anonymous(), _Watch()
    start = time.perf_counter()
    rule = Rule(order="any") if order == "any" else Rule(rtol=1e-6)
    comparison = diff_files(Path(folder, "large"), Path(folder, "large_changed"), rule)
    seconds = time.perf_counter() - start
    assert not comparison.same
    print(stop() - before, seconds)


def _anonymous() -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) << 10


class _Watch:
    """Samples the process's memory in a thread; calling it stops and gives the largest sample."""

    def __init__(self) -> None:
        self.largest, self.done = 0, threading.Event()
        self.thread = threading.Thread(target=self._sample)
        self.thread.start()

    def _sample(self) -> None:
        while not self.done.wait(0.002):
            self.largest = max(self.largest, _anonymous())

    def __call__(self) -> int:
        self.done.set()
        self.thread.join()
        return max(self.largest, _anonymous())


if __name__ == "__main__":
    from benchmarks.rows import table

    print(table(measure()))
