"""Damaged baselines, links that lead nowhere, two files where revisions are expected, a fill that raises."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests import workshop


def test_a_damaged_baseline_does_not_hide_the_others(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    shop.job(("n: [100]", "n: [100, 50]"))
    assert shop.call("run", "--device", "cpu").exit_code == 1
    assert shop.call("accept").exit_code == 0
    dump = tmp_path / "baselines/scale/n=100/out.1.4"
    dump.write_text(dump.read_text() + "1.0\n")
    listed = shop.call("list")
    assert listed.exit_code == 4
    assert ["scale/n=100", "1.4", "damaged"] in [line.split() for line in listed.stdout.splitlines()]
    assert ["scale/n=50", "1.4", "1.4"] in [line.split() for line in listed.stdout.splitlines()]
    assert "out.1.4" in listed.stderr
    entries = json.loads(shop.call("list", "--json").stdout)
    assert [bool(entry["damaged"]) for entry in entries] == [True, False]


def test_two_files_are_compared_as_they_are(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    first = shop.write("a.1", "# gpuregress 1 float32 [2]\n1.0\n2.0\n")
    second = shop.write("b.1", "# gpuregress 1 float32 [2]\n1.0\n2.5\n")
    assert shop.call("diff", str(first), str(first)).exit_code == 0
    different = shop.call("diff", str(first), str(second))
    assert different.exit_code == 1
    assert "[1]" in different.stdout


def test_a_folder_and_a_dangling_link_in_a_jobs_place_are_wrong_jobs(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    (tmp_path / "configs/gone.yaml").symlink_to("nowhere.yaml")
    (tmp_path / "configs/sub.yaml").mkdir()
    for command in (("list",), ("check", "--no-compile"), ("run", "--device", "cpu")):
        output = shop.fails(2, *command)
        assert "configs/gone.yaml: is a link to a missing file, not a job file" in output
        assert "configs/sub.yaml: is a folder, not a job file" in output
    assert shop.call("list", "scale").exit_code == 0


def test_a_pipe_in_a_jobs_place_is_a_wrong_job(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    os.mkfifo(tmp_path / "configs/pipe.yaml")
    (tmp_path / "configs/zeros.yaml").symlink_to("/dev/zero")
    output = shop.call("check", "--no-compile")
    assert output.exit_code == 2
    assert "configs/pipe.yaml: cannot be read: not a regular file" in output.stderr
    assert "configs/zeros.yaml: cannot be read: not a regular file" in output.stderr
    assert shop.call("list", "scale").exit_code == 0


def test_a_fill_that_raises_is_the_users_code(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    shop.write("configs/f.py", "def fill():\n    raise ValueError('my data is gone')\n")
    shop.job(("fill: arange", "fill: {python: f.py:fill}"))
    ran = shop.call("run", "--device", "cpu")
    assert ran.exit_code == 3
    assert "f.py:fill failed: ValueError: my data is gone" in ran.stdout
