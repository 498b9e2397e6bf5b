from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError, UnknownNames
from gpuregress.foundation.records import PythonKernel, Source
from gpuregress.toolchain import programs

TEXT = """\
import helpers


def ptx(arch, n=1):
    return helpers.TEXT.replace("ARCH", arch).replace("COUNT", str(n))


def encoded(**given):
    return ptx(given["arch"], given["n"]).encode()


def of_nvrtc(n):
    return bytearray(ptx("sm_90", n).encode() + b"\\0")


def number():
    return 3


def wants(size):
    return size


def raises():
    raise ValueError("not today:\\n\\nno driver\\nand more")
"""
HELPERS = '''\
TEXT = """.version 8.0
.target ARCH
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) { .reg .b32 %r<2>; mov.u32 %r1, COUNT; ret; }
"""
'''


def source(folder: Path, function: str = "ptx", kernel: str = "k") -> Source:
    (folder / "helpers.py").write_text(HELPERS)
    path = folder / "build.py"
    path.write_text(TEXT)
    return Source(str(path), kernels=(kernel,), python=PythonKernel("python", function, constants={"n": 7, "m": 8}))


@pytest.mark.parametrize("function", ["ptx", "encoded", "of_nvrtc"])
def test_the_function_is_called_with_what_it_asks_for(tmp_path: Path, function: str) -> None:
    program = programs.compile(source(tmp_path, function))
    ptx = Path(program.ptx).read_text()
    assert ".target sm_90" in ptx
    assert "mov.u32 %r1, 7;" in ptx
    assert "\0" not in ptx
    assert program.entries["k"].launch is None


def test_it_is_called_once_for_a_text(tmp_path: Path) -> None:
    one = source(tmp_path)
    assert programs.find(one) is None
    assert programs.compile(one) == programs.find(one)
    (tmp_path / "helpers.py").write_text(HELPERS + "# changed\n")
    assert programs.find(one) is None, "a helper counts"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("number", "build.py: number returned 3, and not PTX"),
        ("wants", "build.py: wants has a parameter 'size': it is called with arch, n, m"),
        ("raises", "build.py: ValueError: not today: no driver (line 25 of build.py)"),
    ],
)
def test_errors_are_the_users(tmp_path: Path, function: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        programs.compile(source(tmp_path, function))
    assert str(caught.value).endswith(message)


def test_a_kernel_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownNames, match="has no kernel 'other'; it has k"):
        programs.compile(source(tmp_path, kernel="other"))
