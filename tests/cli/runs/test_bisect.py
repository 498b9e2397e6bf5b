"""`gpuregress bisect` on the fake device."""

from __future__ import annotations

import json

from tests.lab.revisions.git_projects import factors
from tests.workshop import Workshop

ENDS = ("scale", "HEAD~3", "HEAD", "--device", "cpu")


def test_the_commit_and_the_diagnosis(fake_shop: Workshop) -> None:
    hashes = factors(fake_shop, "2.0", "2.0", "3.0", "3.0")
    result = fake_shop.call("bisect", *ENDS)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"first bad commit: {hashes[2]}"
    assert lines[1:4:2] == ["  author   A. Author", "  subject  Commit 2"]
    assert lines[4] == "  changed  configs/scale.yaml"
    assert "differ   scale/n=100" in result.stdout
    assert "out (baseline): 99 of 100 differ" in result.stdout
    assert result.stderr.splitlines()[0].startswith(f"good  {hashes[0][:7]} ")
    assert len(result.stderr.splitlines()) == 4


def test_json_is_all_of_stdout(fake_shop: Workshop) -> None:
    hashes = factors(fake_shop, "2.0", "2.0", "3.0", "3.0")
    document = json.loads(fake_shop.call("bisect", *ENDS, "--json").stdout)
    assert (document["found"], document["first_bad"]["hash"], document["possible"]) == (True, hashes[2], [])
    assert [one["state"] for one in document["tested"]].count("bad") >= 1
    assert document["verdicts"][0]["buffers"][0]["differing"] == 99


def test_without_a_bad_commit_and_without_a_repository(fake_shop: Workshop) -> None:
    assert "is in no git repository" in fake_shop.fails(2, "bisect", *ENDS)
    factors(fake_shop, "2.0", "2.0", "2.0", "2.0")
    assert "there is no bad commit between them" in fake_shop.fails(5, "bisect", *ENDS)
    assert "git knows no commit 'v9'" in fake_shop.fails(2, "bisect", "scale", "v9", "HEAD")
