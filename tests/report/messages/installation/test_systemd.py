from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpuregress.report.messages.installation import hosts
from gpuregress.report.messages.installation.night_command import NightCommand
from tests.report.messages.installation.nights import AWKWARD, NIGHT, SEEN, in_folder


def words(unit: str) -> list[str]:
    """The command of a unit as systemd.service(5) reads it: quotes, escapes, specifiers."""
    (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=:")]
    found = []
    for quoted, plain in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line.removeprefix("ExecStart=:")):
        text = re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        assert re.search("(?<!%)(%%)*%(?!%)", text) is None
        found.append(text.replace("%%", "%"))
    return found


@pytest.mark.parametrize("name", AWKWARD)
def test_the_unit_works_in_any_folder(tmp_path: Path, name: str) -> None:
    night = in_folder(tmp_path / name)
    service, timer = hosts.systemd_plan(night).files
    assert not [line for file in (service, timer) for line in file.text.splitlines() if line.endswith("\\")]
    done = subprocess.run(words(service.text), cwd="/", env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert json.loads((night.root / "seen.json").read_text()) == {**SEEN, "folder": str(night.root), "secret": None}
    assert (night.root / "runs/nightly.log").read_text() == "1 new failure\nnote: no mail\n"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("name", AWKWARD)
def test_systemd_takes_the_units(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    paths = []
    for file in hosts.systemd_plan(in_folder(tmp_path / name, zone="Europe/Berlin")).files:
        path = tmp_path / file.path.name
        path.write_text(file.text)
        paths.append(str(path))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True, check=False, timeout=60
    )
    complaints = [line for line in done.stderr.splitlines() if "gpuregress" in line or str(tmp_path) in line]
    assert (done.returncode, complaints) == (0, [])


def test_the_timer_has_the_time_zone() -> None:
    timer = hosts.systemd_plan(NIGHT).files[1].text
    assert "OnCalendar=*-*-* 02:00:00 Europe/Berlin\n" in timer
    unknown = NightCommand(NIGHT.root, NIGHT.runs, NIGHT.root, NIGHT.program, hour=23, minute=5)
    assert "OnCalendar=*-*-* 23:05:00\n" in hosts.systemd_plan(unknown).files[1].text


def test_units_of_two_folders_have_two_names(tmp_path: Path) -> None:
    one, two = (hosts.systemd_plan(in_folder(tmp_path / name / "kernels")) for name in "ab")
    assert one.files[0].path.name != two.files[0].path.name


def test_the_units_are_printed_below_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/me/.config")
    plan = hosts.systemd_plan(NIGHT)
    assert plan.text.startswith(f"# /home/me/.config/systemd/user/{NIGHT.name}.service\n# gpuregress nightly of /srv/")
    assert plan.todo[1].endswith(f"enable --now {NIGHT.name}.timer")
