from __future__ import annotations

import ctypes

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.runner.arguments import EncodedMap, pack
from gpuregress.foundation.records import Argument
from tests.fakes import FakeMemory

CTYPES = {"int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64}
MEMORY = {"x": FakeMemory("x", 4, 0x1234_5678_9ABC)}


def scalar(dtype: str, value: int) -> Argument:
    data = int(value).to_bytes(int(dtype[3:]) // 8, "little", signed=True).hex()
    return Argument("scalar", dtype=dtype, data=data, text=str(value))


def test_a_buffer_is_its_address_and_null_is_zero() -> None:
    assert pack(Argument("buffer", buffer="x"), MEMORY) == (bytes.fromhex("bc9a785634120000"), 8)
    assert pack(Argument("null"), MEMORY) == (bytes(8), 8)


@given(st.lists(st.tuples(st.sampled_from(sorted(CTYPES)), st.integers(-128, 127)), min_size=1, max_size=8))
def test_a_struct_is_laid_out_as_c_does(members: list[tuple[str, int]]) -> None:
    fields = [(f"f{number}", CTYPES[dtype]) for number, (dtype, _) in enumerate(members)]
    layout = type("Layout", (ctypes.Structure,), {"_fields_": fields})
    expected = bytes(layout(*(value for _, value in members)))
    argument = Argument("struct", fields=tuple(scalar(dtype, value) for dtype, value in members))
    assert pack(argument, MEMORY) == (expected, ctypes.alignment(layout))


def test_a_pointer_may_lead_into_a_buffer() -> None:
    inside = Argument("buffer", buffer="x", offset=0x100)
    assert pack(inside, MEMORY) == (bytes.fromhex("bc9b785634120000"), 8)


def test_a_tensor_map_is_its_bytes_or_the_address_of_its_copy() -> None:
    maps = {MEMORY["x"].address: EncodedMap(bytes(range(128)), 0x7000)}
    by_value = Argument("buffer", buffer="x", as_map=True)
    assert pack(by_value, MEMORY, maps=maps) == (bytes(range(128)), 64)
    in_memory = Argument("buffer", buffer="x", as_map=True, in_memory=True)
    assert pack(in_memory, MEMORY, maps=maps) == ((0x7000).to_bytes(8, "little"), 8)


def test_a_texture_is_the_handle_of_where_its_buffer_is_now() -> None:
    moved = {"x": MEMORY["x"], "y": FakeMemory("y", 4, 4096)}
    handles = {4096: 7, 8192: 9}
    both = Argument("struct", fields=(Argument("buffer", buffer="y"), Argument("buffer", buffer="x")))
    assert pack(both, moved, handles)[0] == (7).to_bytes(8, "little") + bytes.fromhex("bc9a785634120000")
