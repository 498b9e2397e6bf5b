"""`nightly --install`: the lines on stdout and no others, what is left to do on stderr."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from gpuregress.cli.nightly import SCHEDULERS
from gpuregress.report.messages.installation import package_source
from tests.workshop import Workshop


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(package_source, "requirement", lambda _repository: "gpuregress==1.0")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_stdout_has_the_lines_alone(shop: Workshop, scheduler: str) -> None:
    before = sorted(shop.root.rglob("*"))
    printed = shop.call("nightly", "--install", scheduler)
    assert printed.exit_code == 0
    assert "nightly" in printed.stdout
    assert not [line for line in printed.stdout.splitlines() if line.startswith("gpuregress: ")]
    assert all(line.startswith("gpuregress: ") for line in printed.stderr.splitlines())
    assert sorted(shop.root.rglob("*")) == before  # nothing was run or written


def test_other_options_are_part_of_the_command(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop.root / "sub").mkdir()
    monkeypatch.chdir(shop.root / "sub")
    options = ("--device", "cpu", "-k", "a*", "--tag", "x", "--tag", "y z", "-j", "2", "--timeout", "90s")
    reports = ("--junit", "n.xml", "--report", f"sarif={shop.root.parent}/n.sarif", "--report", "tap=-")
    line = shop.call("nightly", "--install", "cron", "--at", "23:05", *options, *reports).stdout
    words = shlex.split(line)
    assert words[:5] == ["5", "23", "*", "*", "*"]
    given = words[words.index("nightly") + 1 : words.index("2>&1")]
    pairs = {(given[at], given[at + 1]) for at in range(0, len(given), 2)}
    assert pairs == {
        ("--device", "cpu"),
        ("-k", "a*"),
        ("--tag", "x"),
        ("--tag", "y z"),
        ("--jobs", "2"),
        ("--timeout", "90"),
        ("--junit", "sub/n.xml"),
        ("--report", f"sarif={shop.root.parent}/n.sarif"),
        ("--report", "tap=-"),
    }


@pytest.mark.parametrize(
    ("scheduler", "names"),
    [
        ("systemd", ("gpuregress-*.service", "gpuregress-*.timer")),
        ("github", ("gpuregress-nightly.yml",)),
        ("gitlab", ("gpuregress-nightly.yml", ".gitlab-ci.yml")),
        ("slurm", ("gpuregress-nightly.sbatch",)),
    ],
)
def test_files_are_written_and_never_over_others(shop: Workshop, scheduler: str, names: tuple[str, ...]) -> None:
    for _ in range(2):  # once more replaces our own
        assert shop.call("nightly", "--install", scheduler, "--write").exit_code == 0
    written = [path for name in names for path in shop.root.rglob(name)]
    assert len(written) == len(names)
    written[0].write_text("name: theirs\n")
    message = shop.fails(2, "nightly", "--install", scheduler, "--write")
    assert "was not written by gpuregress" in message
    assert written[0].read_text() == "name: theirs\n"


def test_the_crontab_is_written(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = shop.root / "crontab"
    kept = shop.root / "kept"
    stand_in.write_text(f'#!/bin/sh\n[ "$1" = -l ] && exec cat {kept}\nexec cat > {kept}\n')
    stand_in.chmod(0o755)
    kept.write_text("# mine\n")
    monkeypatch.setenv("PATH", f"{shop.root}{os.pathsep}{os.environ['PATH']}")
    printed = shop.call("nightly", "--install", "cron", "--write")
    assert kept.read_text() == "# mine\n" + printed.stdout
    assert "added a line to your crontab" in printed.stderr


def test_the_file_of_the_secrets_is_named(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PING_KEY", "f00d-cafe")
    shop.write("gpuregress.yaml", "ping: https://hc.example.org/${PING_KEY}")
    for scheduler in SCHEDULERS:
        printed = shop.call("nightly", "--install", scheduler)
        assert "PING_KEY" in printed.stderr
        assert "f00d" not in printed.output


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (("--write",), "--write belongs to --install: name a scheduler, cron, systemd"),
        (("--install", "at"), "'at' is not one of 'cron'"),
        (("--install", "cron", "--at", "25:00"), "'25:00' is not a time; expected HH:MM"),
        (("--install", "slurm", "--resume"), "--resume is only for a night"),
    ],
)
def test_what_means_nothing_is_refused(shop: Workshop, options: tuple[str, ...], printed: str) -> None:
    assert printed in shop.fails(2, "nightly", *options)
