from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DumpError
from gpuregress.store.dumps.files import Header, parse_header

PATH = Path("sum.1")
TYPES = [*dtypes.known_names(), "{id:int32,score:float32}", "{a:bool,pos:float3,c:complex64}"]


def test_the_line_is_the_contracts() -> None:
    assert Header(dtypes.parse("float32"), (4, 250)).render() == b"# gpuregress 1 float32 [4,250]\n"


@given(st.sampled_from(TYPES), st.lists(st.integers(0, 10**17), max_size=5).map(tuple))
def test_a_header_reads_back(name: str, shape: tuple[int, ...]) -> None:
    header = Header(dtypes.parse(name), shape)
    assert parse_header(header.render()[:-1], PATH) == header


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"0.5", "is not a dump header"),
        (b"", "is not a dump header"),
        (b"# gpuregress 1 float32 [4,250] ", "is not a dump header"),
        (b"# gpuregress 1 float32 [-4]", "is not a dump header"),
        (b"# gpuregress 1 float32 [4,]", "is not a dump header"),
        (b"# gpuregress 1 float32", "is not a dump header"),
        (b"#gpuregress 1 float32 [4]", "is not a dump header"),
        (b"\xff\xfe# gpuregress 1 float32 [4]", "is not a dump header"),
        (b"# gpuregress 2 float32 [4]", "version 2"),
        (b"# gpuregress 1 float33 [4]", "invalid dtype 'float33'"),
        (b"# gpuregress 1 {id:int33} [4]", "invalid dtype 'int33'"),
    ],
)
def test_what_is_no_header(line: bytes, says: str) -> None:
    with pytest.raises(DumpError, match=r"sum\.1:1: ") as caught:
        parse_header(line, PATH)
    assert says in str(caught.value)


@given(st.binary(max_size=80))
def test_no_bytes_break_it(line: bytes) -> None:
    with pytest.raises(DumpError) as caught:
        parse_header(line, PATH)
    assert "\n" not in str(caught.value)
