"""Speed of the host: plain serial C++ compiled by `g++ -O2`, which times itself."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

MAIN = """
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

%(code)s

int main() {
    Work work;
    std::vector<double> seconds;
    for (int i = 0; i < %(repeats)d + 1; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work.run();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(seconds.begin() + 1, seconds.end());  // the first one warms up
    std::printf("%%.9g %%.9g\\n", seconds[1], work.result());
}
"""


def compiler() -> str | None:
    """Path of g++; None where there is none."""
    return shutil.which("g++")


@lru_cache(maxsize=16)
def seconds(code: str, repeats: int = 15) -> float:
    """The best seconds of `Work::run()`: another process can only make it slower.

    Args:
        code: C++ that defines `struct Work` with `run()` and `double result()`; the result is printed, so that nothing
            can be left out as unused.
        repeats: how many runs count.
    """
    gpp = compiler()
    assert gpp is not None
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "work.cpp"), Path(folder, "work")
        source.write_text(MAIN % {"code": code, "repeats": repeats})
        subprocess.run([gpp, "-O2", "-std=c++17", "-o", binary, source], check=True)
        output = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    return float(output.split()[0])
