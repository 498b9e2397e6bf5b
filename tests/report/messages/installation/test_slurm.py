from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gpuregress.report.messages.installation import hosts
from tests.report.messages.installation.nights import AWKWARD, NIGHT, SEEN, in_folder


@pytest.mark.parametrize("name", AWKWARD)
def test_the_script_works_in_any_folder(tmp_path: Path, name: str) -> None:
    secrets = tmp_path / "it's secret.env"
    secrets.write_text("PING_KEY=word\n")
    night = in_folder(tmp_path / name, secrets=("PING_KEY",), secrets_file=secrets)
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done > {tmp_path}/submitted\n')
    sbatch.chmod(0o755)
    (file,) = hosts.slurm_plan(night).files
    script = tmp_path / "spooled"
    script.write_text(file.text)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/bash", str(script)], cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert json.loads((night.root / "seen.json").read_text()) == {**SEEN, "folder": str(night.root), "secret": "word"}
    assert (night.root / "runs/nightly.log").read_text() == "1 new failure\nnote: no mail\n"
    assert (tmp_path / "submitted").read_text() == f"--quiet\n--begin=02:00\n{file.path}\n"


def test_two_nights_do_not_overlap() -> None:
    text = hosts.slurm_script(NIGHT)
    assert f"#SBATCH --job-name={NIGHT.name}\n#SBATCH --dependency=singleton\n" in text


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    script = tmp_path / "night.sbatch"
    night = in_folder(tmp_path / "it's", secrets=("A",), secrets_file=tmp_path / "a b")
    script.write_text(hosts.slurm_script(night))
    command = ["shellcheck", "--exclude=SC2016", str(script)]  # dollar signs in quotes are meant
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
