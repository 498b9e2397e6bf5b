from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpuregress.execution.workers import compiler_pool
from gpuregress.execution.workers.compiler_pool import CompilerPool
from gpuregress.foundation.errors import CompileError, CompilerStopped, HarnessError, Interrupted, UnknownNames
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Program, Source

_PLAN = """
import json, os, signal, socket, sys, time
sock = socket.socket(fileno=int(sys.argv[sys.argv.index("--channel") + 1]))
sock.recv(1 << 16)
print("last words", flush=True)
sys.stderr.write(str(os.getpid()) + "\\n")
open(sys.argv[1], "w").write(str(os.getpid()))
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def script(tmp_path: Path, does: str) -> tuple[str, ...]:
    """A process that does something in place of compiling; its number is in the file `pid`."""
    path = tmp_path / "compiler.py"
    path.write_text(_PLAN + does)
    return (sys.executable, str(path), str(tmp_path / "pid"))


def source(tmp_path: Path, text: str, **settings: object) -> Source:
    path = tmp_path / "k.cu"
    path.write_text(text)
    return Source(str(path), **settings)  # type: ignore[arg-type] # the settings are Source's own


def results(crew: CompilerPool, *sources: Source) -> dict[str, object]:
    actual: dict[str, object] = {}
    for number, one in enumerate(sources):
        crew.submit(str(number), one)
    while crew.under_way:
        crew.wait()
        actual.update(crew.collect())
    return actual


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_sources_are_compiled_and_errors_come_back_as_they_are(tmp_path: Path) -> None:
    good = source(tmp_path, "__global__ void k() {}", kernels=("k",))
    with CompilerPool(1) as crew:
        actual = results(crew, good, Source(good.path, kernels=("missing",)), Source(str(tmp_path / "none.cu")))
    assert isinstance(actual["0"], Program)
    assert Path(actual["0"].ptx).is_file()
    assert isinstance(actual["1"], UnknownNames)
    assert "has no kernel 'missing'" in actual["1"].messages["missing"]
    assert isinstance(actual["2"], CompileError)


def test_no_variable_steers_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steering = ("NVRTC_X", "TRITON_INTERPRET", "DISABLE_LLVM_OPT", "DISABLE_MMA_V3")
    for name in steering:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HARMLESS", "1")
    does = "open(sys.argv[1] + '.names', 'w').write(' '.join(os.environ))\n"
    with CompilerPool(1, command=script(tmp_path, does)) as crew:
        results(crew, source(tmp_path, ""))
    names = (tmp_path / "pid.names").read_text().split()
    assert "HARMLESS" in names
    assert not {*steering} & {*names}


@pytest.mark.parametrize(
    ("does", "kind", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", CompilerStopped, "k.cu: the compiler's process died of SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", HarnessError, "memory"),
        ("sys.exit(3)", HarnessError, "ended with exit code 3"),
    ],
)
def test_a_crash_is_its_sources_error(tmp_path: Path, does: str, kind: type[Exception], message: str) -> None:
    with CompilerPool(1, command=script(tmp_path, does)) as crew:
        actual = results(crew, source(tmp_path, ""), source(tmp_path, ""))
    assert len(actual) == 2
    for error in actual.values():
        assert type(error) is kind
        assert message in str(error)


def test_each_source_has_a_second_try_also_under_the_key_of_one_that_crashed(tmp_path: Path) -> None:
    does = "open(sys.argv[1] + '.tries', 'a').write('x')\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    with CompilerPool(1, command=script(tmp_path, does)) as crew:
        for tries in (2, 4):
            results(crew, source(tmp_path, ""))
            assert len((tmp_path / "pid.tries").read_text()) == tries


def test_a_crash_at_the_names_of_kernels_is_replaced_by_the_sources_own_error(tmp_path: Path) -> None:
    newer = "template <class T> concept Small = sizeof(T) < 8;\n" + _KERNEL.format("Small")
    paths = [tmp_path / "gone.cu", tmp_path / "newer.cu"]
    paths[0].write_text(_KERNEL.format("Gone"))
    paths[1].write_text(newer)
    with CompilerPool(1) as crew:
        errors = results(crew, *(Source(str(path), kernels=("k<int>",)) for path in paths))
    gone, later = errors["0"], errors["1"]
    assert type(gone) is CompileError
    assert "gone.cu:1: error" in str(gone)
    assert type(later) is CompileError
    assert later.standard == "c++20"


def test_sources_with_the_same_headers_are_divided_among_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_pool, "process_count", lambda: 3)
    header = "#include <cuda_fp16.h>\n"
    good = tmp_path / "k.cu"
    good.write_text(f"{header}template <class T> __global__ void k(T* x) {{ x[0] = T(2); }}\n")
    crashing = tmp_path / "gone.cu"
    crashing.write_text(header + _KERNEL.format("Gone"))
    names = ("k<float>", "k<half>", "k<None>", "k<char>", "k<double>")
    sources = [Source(str(good), kernels=(name,)) for name in names]
    sources.insert(3, Source(str(crashing), kernels=("k<int>",)))
    with CompilerPool(1, precompiled=tmp_path / "headers") as crew:
        results(crew, Source(str(good)))
        actual = results(crew, *sources)
    kinds = [type(actual[str(number)]) for number in range(len(sources))]
    assert kinds == [Program, Program, UnknownNames, CompileError, Program, Program]
    assert "identifier" in str(actual["3"])


_KERNEL = "template <{} T> __global__ void k(T* x) {{ x[0] = 1; }}\n"


def test_a_compilation_that_does_not_end_is_killed_at_its_limit(tmp_path: Path) -> None:
    with CompilerPool(1, command=script(tmp_path, "time.sleep(600)\n"), limit_s=1.0) as crew:
        crew.submit("0", source(tmp_path, ""))
        (compiler,) = crew._compilers
        actual = results(crew)
        assert "not compiled after 1 s" in str(actual["0"])
        assert not is_alive(compiler.worker.process.pid)


def test_an_interrupt_waits_for_no_compilation(tmp_path: Path) -> None:
    with StopSignal() as stop:
        ring = f"os.kill({os.getpid()}, signal.SIGINT)\ntime.sleep(600)\n"
        with CompilerPool(2, stop, command=script(tmp_path, ring)) as crew, pytest.raises(Interrupted):
            results(crew, source(tmp_path, ""))
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_dismissed_compiler_ends_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    kernel = source(tmp_path, 'extern "C" __global__ void k(int* x) { *x = 1; }')
    with CompilerPool(1) as crew:
        assert isinstance(results(crew, kernel)["0"], Program)
        (first,) = crew._compilers
        crew.dismiss()
        assert first.worker.process.returncode is not None
        assert isinstance(results(crew, kernel)["0"], Program)
