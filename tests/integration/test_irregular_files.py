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
    (tmp_path / "baselines/scale/n=50/baseline.yaml").unlink()
    os.mkfifo(tmp_path / "baselines/scale/n=50/baseline.yaml")
    ran = shop.call("run", "--device", "cpu", "scale/n=50")
    assert (ran.exit_code, "n=50/baseline.yaml: not a regular file" in ran.stdout) == (4, True)
    assert "out.1.4" in listed.stderr
    (tmp_path / "baselines/scale/n=50/baseline.yaml").unlink()
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
        done = shop.call(*command)  # the other job runs
        assert done.exit_code == 2
        assert "configs/gone.yaml: is a link to a missing file, not a job file" in done.output
        assert "configs/sub.yaml: is a folder, not a job file" in done.output
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


def test_what_a_job_says_is_read_as_it_is_meant(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    text = (tmp_path / "configs/scale.yaml").read_text()
    shop.write("configs/Dated.YAML", text.replace("n: [100]", "n: [100]\n  day: [2026-01-01, 2026-11-21]"))
    fill = "dtype: bool, shape: [n], fill: {choice: [true, false]}"
    shop.write(
        "configs/bits.yaml", text.replace("dtype: float32, shape: [n], fill: arange", fill).replace("scale.cu", "b.cu")
    )
    shop.write("kernels/b.cu", workshop.KERNEL.replace("const float *x", "const bool *x"))
    assert "new      bits/n=100" in shop.call("run", "--device", "cpu", "bits").stdout
    listed = shop.call("list")
    assert listed.stdout.count("Dated/n=100,day=2026-") == 2
    shop.write("configs/scale.yaml", f"revision: yaml\n{text}")
    assert "revision: is 'yaml': the dump of a buffer `baseline` would" in shop.fails(2, "check", "scale")


def test_a_run_whose_folder_is_removed_is_no_success(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    shop.call("run", "--device", "cpu")
    shop.call("accept")
    runs = str(tmp_path / "runs")
    text = f"import shutil\ndef f(inputs, case):\n    shutil.rmtree({runs!r})\n    return 2 * inputs['x']\n"
    shop.write("configs/r.py", text)
    with (tmp_path / "configs/scale.yaml").open("a") as job:
        job.write("reference: {out: r.py:f}\n")
    ran = shop.call("run", "--device", "cpu")
    assert (ran.exit_code, "was removed while the run went on" in ran.stdout + ran.stderr) == (4, True)


def test_a_fill_that_raises_is_the_users_code(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    shop.write("configs/f.py", "def fill():\n    raise ValueError('my data is gone')\n")
    shop.job(("fill: arange", "fill: {python: f.py:fill}"))
    ran = shop.call("run", "--device", "cpu")
    assert ran.exit_code == 3
    assert "f.py:fill failed: ValueError: my data is gone" in ran.stdout
