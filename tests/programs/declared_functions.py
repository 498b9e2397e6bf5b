"""The table of the driver's functions, written from NVIDIA's headers: `python -m tests.programs.declared_functions`.

A row is `ENTRY(name, version, symbol)`: what `cuGetProcAddress` returns for a name since a version of CUDA. A second
kind, `EXPORT(symbol)`, lists every symbol once; `FORWARD(symbol, target)` is one for a default stream of each thread.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

TABLE = Path(__file__).parents[2] / "gpuregress" / "programs" / "driver" / "functions.h"
_HEADERS = ("cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
_PROFILER = ("cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop")
"""cudaProfiler.h is not in the packages of the toolkit that the tests install."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DECLARED = re.compile(r"CUresult\s+CUDAAPI\s+(cu\w+)\s*\(")
_RENAMED = re.compile(r"#define\s+cu\w+\s+(?:__CUDA_API_PT[DS][SZ]\()?(cu\w+)")
_OF_THREAD = re.compile(r"__CUDA_API_(PT[DS][SZ])\((cu\w+)\)")
_TYPEDEF = re.compile(r"\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)\)")


def folder() -> Path:
    """Return the folder of the headers that are installed with the tests."""
    spec = importlib.util.find_spec("nvidia")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)), "cu13", "include")


def table(include: Path) -> str:
    """Return the text of the table for the headers of a folder."""
    texts = [_COMMENT.sub(" ", (include / name).read_text(encoding="utf-8")) for name in _HEADERS]
    text = "\n".join(texts)
    symbols = {*_DECLARED.findall(text), *_RENAMED.findall(text), *_PROFILER}
    versions: dict[str, set[int]] = {name: {4000} for name in _PROFILER}
    for path in include.glob("cuda*Typedefs.h"):
        for name, version in _TYPEDEF.findall(path.read_text(encoding="utf-8")):
            versions.setdefault(name, set()).add(int(version))
    rows = []
    for name, numbers in sorted(versions.items()):
        spellings = [name, *(f"{name}_v{number}" for number in range(2, 9))]
        known = [spelling for spelling in spellings if spelling in symbols]
        # Each version but the first one has its own symbol; the newest version has the newest symbol.
        for number, symbol in zip(sorted(numbers, reverse=True), reversed(known), strict=False):
            rows.append(f"ENTRY({name}, {number}, {symbol})")
    forwards = {f"{symbol}_{suffix.lower()}": symbol for suffix, symbol in _OF_THREAD.findall(text)}
    forwards |= {name: name[:-5] for name in symbols if name.endswith(("_ptsz", "_ptds"))}
    lines = [
        "/* Written by tests/programs/declared_functions.py from the headers of CUDA. */",
        "",
        "#ifdef ENTRY",
        *rows,
    ]
    lines += ["#endif", "", "#ifdef EXPORT", *(f"EXPORT({name})" for name in sorted(symbols - forwards.keys()))]
    lines += ["#endif", "", "#ifdef FORWARD"]
    lines += [f"FORWARD({symbol}, {target})" for symbol, target in sorted(forwards.items())]
    return "\n".join([*lines, "#endif", ""])


if __name__ == "__main__":
    TABLE.write_text(table(folder()), encoding="utf-8")
