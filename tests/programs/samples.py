"""NVIDIA's CUDA samples on the virtual GPU: build them, run them under `gpuregress exec`, and write a table.

    python -m tests.programs.samples CHECKOUT BUILD [NAME…]

CHECKOUT is a clone of NVIDIA/cuda-samples, BUILD a folder for what is built and for the results, which a second call
continues. The samples are built from the sources that their CMakeLists.txt name, by one call of nvcc with
`-cudart shared` and PTX alone. Once each has a result, the section of docs/reference/program-samples.md is written.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gpuregress.gpu.records import Record
from gpuregress.programs import libraries
from tests.programs import suites
from tests.programs.program_page import PAGE, write_section

GROUPS = ("0_Introduction", "1_Utilities", "2_Concepts_and_Techniques", "3_CUDA_Features", "6_Performance")
_FLAGS = [
    "-cudart",
    "shared",
    "-gencode",
    "arch=compute_90,code=compute_90",
    "-lineinfo",
    "-std=c++17",
    "--extended-lambda",
]
_LEFT_OUT = {
    r"find_package\((OpenGL|EGL|GLUT|Vulkan)": "graphics",
    r"find_package\(MPI": "MPI",
    r"CUDA::(cublas|curand|cufft|cusolver|cusparse|npp)\w*": "a library of machine code",
}
_WAIVED = 2
_WAIVES_ITSELF = ("simpleP2P", "streamOrderedAllocationP2P", "streamOrderedAllocationIPC")
"""Samples that exit with 2 on a computer with one GPU."""
_FAILS_ON_PURPOSE = ("simpleAssert", "simpleAssert_nvrtc")
"""Samples with a kernel whose assertion fails, which the program expects."""
_TIMEOUT_S = 120


class Sample(Record):
    """A sample.

    Attributes:
        name: name.
        folder: its folder in the checkout.
        sources: what its executable is made of.
        kernels: the file of kernels that the program loads itself, "" for none.
        flags: further flags of nvcc.
        left_out: why it is not tried; "" where it is.
    """

    name: str
    folder: Path
    sources: tuple[str, ...]
    kernels: str
    flags: tuple[str, ...]
    left_out: str


class Result(Record):
    """What came of a sample.

    Attributes:
        problem: why it was not built or not run; "" where it was.
        program: exit code of the program.
        exec: exit code of `gpuregress exec`.
        reason: the last message of `exec`, "" for none.
    """

    problem: str = ""
    program: int = 0
    exec: int = 0
    reason: str = ""


def read_samples(checkout: Path) -> Iterator[Sample]:
    """Read the samples' CMakeLists.txt."""
    for group in GROUPS:
        for path in sorted(checkout.glob(f"Samples/{group}/*/CMakeLists.txt")):
            yield _read_sample(path)


def _read_sample(path: Path) -> Sample:
    text = path.read_text(encoding="utf-8")
    executable = re.search(r"add_executable\((\S+)([^)]*)\)", text)
    kernels = re.search(r'CUDA_KERNEL_SOURCE "\$\{CMAKE_CURRENT_SOURCE_DIR\}/([^"]+)"', text)
    flags = []
    wheels = suites.headers()
    if wheels is not None:
        # Of libraries that are not part of the compiler's packages: NVRTC, and curand's kernels.
        flags += ["-Xcompiler", f"-idirafter,{wheels}"]
    if "CUDA::cuda_driver" in text:
        flags.append(str(libraries.driver()))
    if "CUDA::nvrtc" in text and wheels is not None:
        flags += ["-Xlinker", str(wheels.parent / "lib" / "libnvrtc.so.13")]
    if "OpenMP_CXX" in text:
        flags += ["-Xcompiler", "-fopenmp"]
    if path.parent.name.startswith("cdp"):
        flags += ["-rdc=true", "-lcudadevrt"]
    return Sample(
        name=path.parent.name,
        folder=path.parent,
        sources=tuple(executable[2].split()) if executable else (),
        kernels=kernels[1] if kernels else "",
        flags=tuple(flags),
        left_out=", ".join(reason for pattern, reason in _LEFT_OUT.items() if re.search(pattern, text)),
    )


def build(sample: Sample, folder: Path) -> str:
    """Build a sample; return what nvcc says against it, "" where it is built."""
    shutil.copytree(sample.folder, folder, dirs_exist_ok=True)
    for data in folder.glob("data/*"):
        shutil.copy(data, folder)
    _copy_headers(sample, folder)
    common = folder.parents[2] / "Common"
    if not common.exists():
        common.symlink_to(sample.folder.parents[2] / "Common")
    nvcc = ["nvcc", *_FLAGS, "-I", str(common), "-I", str(folder / "inc"), "-I", str(folder)]
    problem = _problem([*nvcc, *sample.sources, *sample.flags, "-o", sample.name], folder)
    stem = f"{Path(sample.kernels).stem}64"
    if not problem and sample.kernels:
        problem = _problem([*nvcc, "-fatbin", sample.kernels, "-o", f"{stem}.fatbin"], folder)
    if not problem and sample.kernels:
        problem = _problem([*nvcc, "-ptx", sample.kernels, "-o", f"{stem}.ptx"], folder)
    return problem


def _copy_headers(sample: Sample, folder: Path) -> None:
    """Copy headers of CUDA that the program itself compiles to where CMake copies them to."""
    text = (sample.folder / "CMakeLists.txt").read_text(encoding="utf-8")
    names = re.findall(r"\$\{CUDA_INCLUDE_DIR\}/(\S+)", text)
    if not names:
        return
    listing = subprocess.run(["nvcc", "-M", "-x", "cu", os.devnull], capture_output=True, text=True, check=True)
    include = next(Path(word).parent for word in listing.stdout.split() if word.endswith("/cuda_runtime.h"))
    for name in names:
        if (include / name).is_dir():
            shutil.copytree(include / name, folder / Path(name).name, dirs_exist_ok=True)
        else:
            shutil.copy(include / name, folder)


def _problem(command: list[str], folder: Path) -> str:
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if process.returncode == 0:
        return ""
    lines = (process.stdout + process.stderr).splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "nvcc failed")


def run(command: list[str], folder: Path) -> Result:
    """Run a program in a folder, where its report is written."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    exec_command = [sys.executable, "-m", "gpuregress", "exec", "--report", str(report), "--", *command]
    environment = {**os.environ, "PYTHONPATH": str(PAGE.parents[2])}
    try:
        process = subprocess.run(
            exec_command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Result(problem=f"not ended after {_TIMEOUT_S} s on two cores")
    message = re.search(r"^gpuregress: (.*)$", process.stderr.decode("utf-8", "replace"), re.MULTILINE)
    reason = message[1] if message else ""
    if not report.exists():
        return Result(problem=reason or "no report")
    code = msgspec.json.decode(report.read_bytes())["program_code"]
    return Result(program=code, exec=process.returncode, reason=reason)


def section(samples: list[Sample], results: dict[str, Result]) -> str:
    """Write the text of the section."""
    rows, as_expected, built = [], 0, 0
    for sample in samples:
        result = results.get(sample.name)
        if result is None:
            continue
        expected = _WAIVED if sample.name in _WAIVES_ITSELF else 0
        is_quiet = result.exec == result.program or sample.name in _FAILS_ON_PURPOSE
        is_expected = not result.problem and result.program == expected and is_quiet
        built += 1
        as_expected += is_expected
        reason = result.problem or result.reason
        codes = ("", "") if result.problem else (str(result.program), str(result.exec))
        rows.append((f"`{sample.name}`", str(expected), *codes, "yes" if is_expected else "**no**", reason[:160]))
    left_out = [f"`{sample.name}` ({sample.left_out})" for sample in samples if sample.left_out]
    return f"""What `gpuregress exec` makes of [NVIDIA's CUDA samples](https://github.com/NVIDIA/cuda-samples).
`python -m tests.programs.samples CHECKOUT BUILD` writes this section. Each sample is built with
`-cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo`, as in
[C++ programs without a GPU](../how-to/cpp-programs.md).

Of {built} samples, **{as_expected} exit as on a computer with one GPU**: with 0, or with 2 where
a sample needs a second GPU and waives itself. What `exec` reports counts against a sample also if
the program ends with 0; the assertions of `simpleAssert` are meant to fail.

| sample | expected | program | `exec` | as expected | what `exec` said first |
| --- | --- | --- | --- | --- | --- |
{chr(10).join(f"| {' | '.join(row)} |" for row in rows)}

{textwrap.fill(f"Not tried: {', '.join(left_out)}.", 98, break_long_words=False, break_on_hyphens=False)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these again")
    arguments = parser.parse_args()
    path = arguments.build / "results.json"
    results = msgspec.json.decode(path.read_bytes(), type=dict[str, Result]) if path.exists() else {}
    samples = list(read_samples(arguments.checkout.absolute()))
    for sample in samples:
        if sample.left_out or (sample.name in results and sample.name not in arguments.names):
            continue
        folder = arguments.build.absolute() / sample.folder.relative_to(arguments.checkout.absolute())
        problem = "" if (folder / sample.name).exists() else build(sample, folder)
        results[sample.name] = Result(problem=problem) if problem else run([f"./{sample.name}"], folder)
        path.write_bytes(msgspec.json.encode(results))
        sys.stdout.write(f"{sample.name}: {results[sample.name]}\n")
    write_section("CUDA samples", section(samples, results))


if __name__ == "__main__":
    main()
