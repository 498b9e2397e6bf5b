"""Images that the driver's linker has put together."""

from __future__ import annotations

import struct

import pytest

from gpuregress.programs import images
from tests.programs.suites import fat_binary

_HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def _linked(*parts: bytes) -> bytes:
    body = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    return struct.pack("<4sHHQ", b"GLNK", 1, 16, len(body)) + body


def test_parts_become_one_module() -> None:
    first = (_HEAD + '.extern .func helper;\n.file 1 "a.cu"\n').encode()
    second = (_HEAD + '.visible .func helper { ret; }\n.file 1 "b.cu"\n').encode()
    text = images.ptx_of(_linked(fat_binary(first), second))
    assert text.count(".version") == 1
    assert '.file 2 "b.cu"' in text
    assert "{ ret; }" in text


def test_parts_of_machine_code_are_left_out() -> None:
    cubin = b"\x7fELF" + bytes(60)
    text = images.ptx_of(_linked(cubin, fat_binary(_HEAD.encode())))
    assert text.count(".version") == 1
    with pytest.raises(images.NoPtx, match="nvcc -gencode arch=compute_90"):
        images.ptx_of(_linked(cubin))
