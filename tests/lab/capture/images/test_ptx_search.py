"""Search for PTX: in what was loaded, in mapped files, in Triton's cache."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gpuregress.lab.capture.images import ptx_search
from tests.toolchain.test_fatbins import container, entry


def ptx(kernel: str, target: int) -> bytes:
    return f".version 8.0\n.target sm_{target}\n.address_size 64\n.visible .entry {kernel}(\n)\n{{ ret; }}\n".encode()


def find(kernel: str, given: Path | None = None, cubin: Path | None = None, mapped: tuple[Path, ...] = ()) -> str:
    found = ptx_search.find(kernel, given, cubin, mapped, 90)
    return f"{found.origin}: {found.text.split('sm_')[1][:3].strip()}" if found else "none"


def test_the_newest_ptx_that_the_card_can_run_is_taken(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(container(*(entry(1, 0x11, ptx("k", number)) for number in (75, 90, 120))))
    assert find("k", given) == "the image that the program loaded: 90"
    assert find("kk", given) == "none"
    given.write_bytes(ptx("k", 80))
    assert find("k", given) == "the image that the program loaded: 80"


def test_a_mapped_file_is_searched_in_its_section(tmp_path: Path) -> None:
    body = container(entry(1, 0x11, ptx("k", 75)))
    names = b"\0.nv_fatbin\0.shstrtab\0"
    rows = [
        struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, 64, len(body), 0, 0, 8, 0),
        struct.pack("<IIQQQQIIQQ", 12, 3, 0, 0, 64 + len(body), len(names), 0, 0, 1, 0),
    ]
    table = 64 + len(body) + len(names)
    head = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    program = tmp_path / "app"
    program.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + head + body + names + b"".join(rows))
    (tmp_path / "text").write_text("no program, but long enough to be looked at: " * 3)
    assert find("k", mapped=(tmp_path / "gone", tmp_path / "text", program)) == "app: 75"


def test_tritons_cache_has_the_ptx_of_the_same_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    for name, code in (("one", b"other code"), ("two", b"same code!")):
        folder = tmp_path / "cache" / name
        folder.mkdir(parents=True)
        (folder / "k.cubin").write_bytes(code)
        (folder / "k.ptx").write_bytes(ptx("k", 90 if name == "two" else 80))
    cubin = tmp_path / "image.cubin"
    cubin.write_bytes(b"same code!")
    assert find("k", cubin=cubin) == "Triton's cache: 90"
    cubin.write_bytes(b"third code")
    assert find("k", cubin=cubin) == "none"
