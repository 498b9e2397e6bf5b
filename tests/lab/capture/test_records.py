"""Records of the injection library: what it writes, and what a crash or an edit leaves."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import HarnessError
from gpuregress.lab.capture import records
from gpuregress.lab.capture.records import CapturedLaunch, CapturedRegion, Pointer, RawParameter

PROCESS = {
    "event": "process",
    "process": 7,
    "version": 13000,
    "architecture": "sm_90",
    "device": "NVIDIA H200",
    "command": ["./app", "-v"],
}
REGION = {
    "base": 4096,
    "size": 64,
    "start": 4096,
    "length": 32,
    "memory": "device",
    "device": 0,
    "kept": True,
    "symbol": None,
}
BEFORE = {
    "event": "before", "number": 3, "kernel": "_Z1kPf", "occurrence": 2, "device": 0, "image": 5, "grid": [4, 1, 1],
    "block": [32, 2, 1], "cluster": [1, 1, 1], "shared": 512, "cooperative": False,
    "parameters": [{"offset": 0, "size": 8, "data": "0010000000000000"}],
    "pointers": [{"at": 0, "address": 4096, "region": 0}], "regions": [REGION],
}  # fmt: skip


def folder_of(folder: Path, *events: dict[str, Any]) -> Path:
    (folder / "7.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    for name in ("7.3.0.before", "7.3.0.after", "7.image5.cubin"):
        (folder / name).write_bytes(bytes(32))
    (folder / "7.maps").write_text("/dev/zero\n[heap]\n/usr/bin/app\n/dev/zero\n")
    return folder


def test_a_launch_is_read_with_its_files(tmp_path: Path) -> None:
    (process,) = records.read_folder(
        folder_of(tmp_path, PROCESS, BEFORE, {"event": "after", "number": 3, "result": ""})
    )
    assert (process.device, process.driver, process.command) == ("NVIDIA H200", "13.0", ("./app", "-v"))
    assert process.mapped == (Path("/dev/zero"), Path("/usr/bin/app"))
    region = CapturedRegion(4096, 64, 4096, 32, "device", "", tmp_path / "7.3.0.before", tmp_path / "7.3.0.after")
    assert process.launches == (
        CapturedLaunch(
            7, 3, "_Z1kPf", 2, (4, 1, 1), (32, 2, 1), (1, 1, 1), 512,
            (RawParameter(0, bytes.fromhex("0010000000000000")),), (Pointer(0, 4096, 0),), (region,),
            tmp_path / "7.image5.cubin", None, "", True,
        ),
    )  # fmt: skip
    assert not region.is_whole


def test_a_failed_launch_has_no_result(tmp_path: Path) -> None:
    after = {"event": "after", "number": 3, "result": "CUDA_ERROR_ILLEGAL_ADDRESS"}
    (process,) = records.read_folder(folder_of(tmp_path, PROCESS, BEFORE, after, {"event": "error", "error": "X"}))
    assert process.launches[0].error == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert process.launches[0].regions[0].after is None


@settings(max_examples=30)
@given(st.integers(1, 2000))
def test_a_process_that_died_while_it_wrote_keeps_what_was_whole(length: int) -> None:
    text = "".join(json.dumps(event) + "\n" for event in (PROCESS, BEFORE))
    cut = text[: min(length, len(text) - 2)]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "7.jsonl"
        path.write_text(cut)
        (process,) = records.read_folder(Path(name))
        assert process.launches == ()
        assert process.device == ("NVIDIA H200" if len(cut) >= len(json.dumps(PROCESS)) else "")


def test_what_the_library_does_not_write_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "7.jsonl").write_text("not json\n{}\n")
    with pytest.raises(HarnessError, match=r"7\.jsonl:1 is not a record of a capture"):
        records.read_folder(tmp_path)
    (tmp_path / "7.jsonl").write_text("[1]\n{}\n")
    with pytest.raises(HarnessError, match=r"7\.jsonl:1 is not a record"):
        records.read_folder(tmp_path)
    for broken in (
        {"event": "before"},
        {**BEFORE, "grid": [1]},
        {**BEFORE, "pointers": [{"at": 0, "address": 1, "region": 9}]},
    ):
        (tmp_path / "7.jsonl").write_text(json.dumps(broken) + "\n")
        with pytest.raises(HarnessError, match=r"7\.jsonl is not a record of a capture"):
            records.read_folder(tmp_path)


def test_a_command_is_utf_8(tmp_path: Path) -> None:
    process = PROCESS | {"command": ["./stra\u00c3\u009fe", "\u00ff"]}
    [read] = records.read_folder(folder_of(tmp_path, process))
    assert read.command == ("./straße", "\ufffd")
