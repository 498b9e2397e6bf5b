"""Kept texts of sources: those of an accepted baseline, from an earlier run or from git."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gpuregress.foundation.records import Case, SourceVersions
from gpuregress.session.runs import source_texts
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


def test_a_new_clone_finds_the_accepted_text_in_the_commit_that_has_it(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """That commit, and not the last one before, nor the one that accepted: its files have the accepted digest.

    A header outside the repository, and many commits, are no obstacle: git is started a fixed number of times.
    """
    header = tmp_path_factory.mktemp("elsewhere") / "outside.cuh"
    header.write_text("// of another project\n")
    first_text = f'#include "{header}"\n{KERNEL}'

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(fake_shop.root), "-c", "user.name=n", "-c", "user.email=e", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "-q")
    fake_shop.write(".gitignore", "runs/\n")
    fake_shop.write("kernels/scale.cu", first_text)
    accepted(fake_shop)
    git("add", "-A")
    git("commit", "-qm", "first")
    first = git("rev-parse", "HEAD")
    for number in range(4):
        fake_shop.write("kernels/scale.cu", f"{first_text}// remark {number}\n")
        git("commit", "-qam", "remark")
    now = first_text.replace("a * x[i]", "a * x[i] + 1")
    path = str(fake_shop.write("kernels/scale.cu", now))
    git("commit", "-qam", "bug")
    shutil.rmtree(fake_shop.root / "runs")
    fake_shop.call(*RUN)
    started: list[object] = []
    popen = subprocess.Popen

    def counted(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        started.append(command)
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", counted)
    outside = {str(header): header.read_text()}
    assert _versions(fake_shop) == SourceVersions({path: now, **outside}, {path: first_text, **outside}, first)
    assert len(started) <= 3
    monkeypatch.setattr(source_texts, "_MOST_READ", 3)
    assert _versions(fake_shop).accepted == {}


def test_a_file_that_is_saved_during_the_run_is_not_shown_as_what_ran(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted(fake_shop)
    path = str(fake_shop.write("kernels/scale.cu", NOW))
    keep = SourceTexts.keep

    def save_first(texts: SourceTexts, case: Case) -> None:
        fake_shop.write("kernels/scale.cu", "something else")
        keep(texts, case)

    with monkeypatch.context() as patched:
        patched.setattr(SourceTexts, "keep", save_first)
        fake_shop.call(*RUN)
    assert _versions(fake_shop).now == {}
    fake_shop.write("kernels/scale.cu", NOW)
    fake_shop.call(*RUN)
    assert _versions(fake_shop).now == {path: NOW}
    for file in (fake_shop.root / "runs" / FOLDER).iterdir():
        file.write_text(file.read_text().replace("a * x[i]", "b * x[i]"))
    assert _versions(fake_shop) == SourceVersions()
    fake_shop.call(*RUN)
    assert _versions(fake_shop).now == {path: NOW}


def test_what_is_not_known_is_empty(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call(*RUN)
    for file in (fake_shop.root / "runs" / FOLDER).iterdir():
        file.write_text("[{")
    assert _versions(fake_shop) == SourceVersions()
