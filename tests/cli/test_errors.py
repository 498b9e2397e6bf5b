from __future__ import annotations

import errno
import io
from pathlib import Path

import click
import pytest

from gpuregress.cli import errors
from gpuregress.foundation.errors import (
    BaselineError,
    ExitCode,
    GpuregressError,
    Interrupted,
    JobError,
    JobErrors,
    NothingToDo,
    RunLocked,
    UsageError,
)


class Full(io.StringIO):
    """A stream onto a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def raising(error: BaseException) -> int:
    def command() -> None:
        raise error

    return errors.guard(command)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no such thing"), 2),
        (click.UsageError("no such option"), 2),
        (click.BadParameter("bad"), 2),
        (JobErrors((JobError(Path("a.yaml"), 3, "source", "missing"),)), 2),
        (BaselineError("edited"), 4),
        (NothingToDo("nothing"), 5),
        (RunLocked("locked"), 75),
        (Interrupted("interrupted"), 130),
        (KeyboardInterrupt(), 130),
        (MemoryError(), 4),
        (OSError(errno.ENOSPC, "No space left on device", "/a/file"), 4),
    ],
)
def test_every_error_has_its_exit_code_and_no_traceback(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == code
    output = capsys.readouterr().err
    assert output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no such thing"), 2),
        (click.UsageError("no such option"), 2),
        (JobErrors((JobError(Path("a.yaml"), 3, "source", "missing"),)), 2),
        (OSError(errno.ENOSPC, "No space left on device"), 4),
    ],
)
def test_where_stderr_is_full_the_exit_code_still_says_it(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", Full())
    assert raising(error) == code


def test_an_os_error_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    raising(OSError(errno.EACCES, "Permission denied", "/a/file"))
    assert capsys.readouterr().err == "gpuregress: Permission denied: /a/file\n"


def test_a_bug_is_one_line_and_a_crash_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path))
    assert raising(ZeroDivisionError("division by zero")) == 4
    output = capsys.readouterr().err
    assert len(output.splitlines()) == 1
    (log,) = (tmp_path / "crashes").iterdir()
    assert str(log) in output
    text = log.read_text()
    assert "Traceback" in text
    assert "ZeroDivisionError" in text
    assert "Python" in text


def test_success_is_0_and_a_code_is_passed_on() -> None:
    assert errors.guard(lambda: None) == 0
    assert errors.guard(lambda: 5) == 5


def test_every_error_class_has_an_exit_code_of_the_contract() -> None:
    def below(kind: type[GpuregressError]) -> list[type[GpuregressError]]:
        return [kind, *(inner for child in kind.__subclasses__() for inner in below(child))]

    assert {kind.exit_code for kind in below(GpuregressError)} <= set(vars(ExitCode).values())
