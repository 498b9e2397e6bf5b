from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.toolchain.headers.virtual_headers import breaks_headers
from tests.toolchain import header_names


@pytest.mark.parametrize("name", ["T", "x", "w", "width", "size"])
def test_these_names_break_an_empty_source(name: str, tmp_path: Path) -> None:
    assert breaks_headers(name, "7")
    assert breaks_headers(name, "float")
    assert header_names.breaks(tmp_path, name)


@pytest.mark.parametrize("name", ["n", "tile", "block", "TILE", "real", "block_size_x", "N", "fast"])
def test_usual_names_do_not(name: str, tmp_path: Path) -> None:
    assert not breaks_headers(name, "7")
    assert not header_names.breaks(tmp_path, name)


def test_a_keyword_may_become_another_word() -> None:
    assert not breaks_headers("inline", "__forceinline__")
    assert not breaks_headers("static", "")
    assert breaks_headers("inline", "7")


def test_the_table_comes_from_the_texts_of_a_library(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    header = b"template<typename T> /* none */ struct s { T width; }; // nothing\n"
    library.write_bytes(b"\0ELF\0" + header * 40 + b"\0short\0")
    assert {"T", "width", "struct"} <= header_names.identifiers(library)
    assert not {"nothing", "none", "ELF"} & header_names.identifiers(library)
    header_names.write(["width", "T"], tmp_path / "names.txt")
    assert (tmp_path / "names.txt").read_text() == "T width\n"
