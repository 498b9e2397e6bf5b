from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import replace
from gpuregress.report.messages.installation import night_command
from gpuregress.store.project import Project
from gpuregress.store.settings import SettingsSpec
from tests.report.messages.installation.nights import NIGHT


def project(root: Path, **settings: object) -> Project:
    return Project(root, root / "configs", root / "baselines", root / "runs", SettingsSpec.of(settings))


def test_the_environment_of_this_process_is_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VIRTUAL_ENV", "/srv/venv")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("PING_KEY", "f00d-cafe")
    night = night_command.of_project(project(tmp_path, ping="https://hc/${PING_KEY}"), ("-k", "x"), (3, 30))
    assert night.environment["GPUREGRESS_CACHE"] == str(tmp_path / "cache")
    assert (night.environment["VIRTUAL_ENV"], night.environment["CUDA_VISIBLE_DEVICES"]) == ("/srv/venv", "1")
    assert night.environment["PATH"].endswith("/usr/local/bin:/usr/bin:/bin") or "/usr/bin" in night.environment["PATH"]
    assert (night.secrets, night.time, night.tells) == (("PING_KEY",), "03:30", False)
    assert "f00d" not in night.shell("")
    assert Path(night.program[0]).is_absolute()


def test_no_secret_is_carried_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GPUREGRESS_PING_KEY", "GPUREGRESS_TOKEN", "TZ"):
        monkeypatch.setenv(name, "f00d-cafe")
    monkeypatch.setenv("GPUREGRESS_CPU_THREADS", "3")
    night = night_command.of_project(project(tmp_path, ping="https://hc/${GPUREGRESS_PING_KEY}${TZ}"), (), (3, 30))
    assert "f00d" not in night.shell("")
    assert night.environment["GPUREGRESS_CPU_THREADS"] == "3"


def test_a_night_that_mails_tells(tmp_path: Path) -> None:
    assert night_command.of_project(project(tmp_path, notify="root"), (), (2, 0)).tells


def test_the_repository_is_found_above(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a/b").mkdir(parents=True)
    night = night_command.of_project(project(tmp_path / "a/b"), (), (2, 0))
    assert (night.repository, night.below_repository) == (tmp_path, "a/b")


def test_a_newline_in_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds a newline or a control character"):
        night_command.of_project(project(tmp_path / "a\nb"), (), (2, 0))


def test_the_time_zone_is_that_of_tz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":America/New_York")
    assert night_command.local_zone() == "America/New_York"
    monkeypatch.setenv("TZ", "<+03>-3")
    assert night_command.local_zone() == ""


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1).filter(lambda text: "/" not in text))
def test_the_shell_reads_what_was_meant(name: str) -> None:
    night = replace(NIGHT, root=Path("/srv") / name, arguments=(name,))
    words = shlex.split(night.shell(">> log"))
    assert words[:2] == ["cd", str(night.root)]
    assert words[-3:] == [name, ">>", "log"]


def test_a_folder_of_runs_elsewhere_is_named_whole() -> None:
    assert replace(NIGHT, runs=Path("/data/runs")).log == "/data/runs/nightly.log"
