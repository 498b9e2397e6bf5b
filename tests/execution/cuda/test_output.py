from __future__ import annotations

import ctypes
import os

import pytest

from gpuregress.execution.cuda import faults


def test_what_c_prints_is_captured_and_no_more(capfd: pytest.CaptureFixture[str]) -> None:
    libc = ctypes.CDLL(None)
    os.write(1, b"before\n")
    with faults.captured() as printed:
        libc.printf(b"by printf\n")  # C's buffer, as the driver's
        os.write(2, b"by write\n")
    os.write(1, b"after\n")
    assert (printed.stdout, printed.stderr) == ("by printf\n", "by write\n")
    assert capfd.readouterr() == ("before\nafter\n", "")


def test_it_is_kept_when_the_block_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="wrong"), faults.captured() as printed:  # noqa: PT012 - what was printed before
        os.write(2, b"last words\n")
        raise ValueError("wrong")
    assert printed.stderr == "last words\n"
    assert capfd.readouterr().err == ""


def test_more_than_a_pipe_holds() -> None:
    with faults.captured() as printed:
        for _ in range(300):
            os.write(1, b"x" * 1023 + b"\n")
    assert len(printed.stdout) == 300 * 1024


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    with faults.silenced():
        os.write(2, b"PyCUDA WARNING: a clean-up operation failed\n")
        raise RuntimeError("and this")
    assert capfd.readouterr().err == ""  # type: ignore[unreachable] # silenced() takes the exception
