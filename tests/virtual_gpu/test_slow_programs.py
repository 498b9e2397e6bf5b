from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu import slow_programs
from tests import fakes


def test_a_slow_program_is_known_in_the_next_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path))
    program = fakes.program()
    assert not slow_programs.known(program)
    slow_programs.note(program)
    assert slow_programs.known(program)
    assert not slow_programs.known(replace(program, key="another"))
    slow_programs.note(program, is_slow=False)
    assert not slow_programs.known(program)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "file"))
    slow_programs.note(fakes.program())
