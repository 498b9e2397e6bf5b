"""Kept texts of sources: those of an accepted baseline, from an earlier run or from git."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from gpuregress.foundation.records import SourceVersions
from gpuregress.session.runs.source_texts import FOLDER, SourceTexts
from tests.workshop import KERNEL, RUN, Workshop, accepted, results

NOW = KERNEL.replace("a * x[i]", "a * x[i] + 1")


def _entry(shop: Workshop) -> Mapping[str, Any]:
    """The case of the last run."""
    cases: Any = results(shop)["cases"]
    entry: Mapping[str, Any] = cases[0]
    return entry


def _versions(shop: Workshop) -> SourceVersions:
    return SourceTexts(shop.root / "runs").versions(_entry(shop))


def test_the_accepted_text_is_that_of_an_earlier_run_without_git(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    path = str(fake_shop.write("kernels/scale.cu", NOW))
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    fake_shop.call(*RUN)
    assert _versions(fake_shop) == SourceVersions({path: NOW}, {path: KERNEL})
    fake_shop.write("kernels/scale.cu", "something else")  # a report is on its run, whatever the folder holds now
    assert _versions(fake_shop).now == {path: NOW}
    page = fake_shop.call("report").stdout
    assert "out[i] = a * x[i] + 1;" in page
    assert "accepted 20" in page


def test_a_new_clone_finds_the_accepted_text_in_the_commit_that_has_it(fake_shop: Workshop) -> None:
    """That commit, and not the last one before, nor the one that accepted: its files have the accepted digest."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(fake_shop.root), "-c", "user.name=n", "-c", "user.email=e", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "-q")
    fake_shop.write(".gitignore", "runs/\n")
    accepted(fake_shop)
    git("add", "-A")
    git("commit", "-qm", "first")
    first = git("rev-parse", "HEAD")
    fake_shop.write("kernels/scale.cu", KERNEL + "// a remark\n")
    git("commit", "-qam", "remark")
    path = str(fake_shop.write("kernels/scale.cu", NOW))
    git("commit", "-qam", "bug")
    shutil.rmtree(fake_shop.root / "runs")
    fake_shop.call(*RUN)
    assert _versions(fake_shop) == SourceVersions({path: NOW}, {path: KERNEL}, first)


def test_what_is_not_known_is_empty(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call(*RUN)
    for file in (fake_shop.root / "runs" / FOLDER).iterdir():
        file.write_text("[{")
    assert _versions(fake_shop) == SourceVersions()
