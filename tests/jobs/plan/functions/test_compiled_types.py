from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Buffer, FunctionArgument, FunctionCall, Program
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan.functions import compiled_types
from tests import fakes

ARGUMENTS = (
    FunctionArgument("x", "real", "buffer", each=True),
    FunctionArgument("k", "int", "parameter"),
)
CALL = FunctionCall("f", "f(real, int)", ARGUMENTS, 4, result="result")
SILENT = replace(CALL, result="")
VALUE, POINTER = 0, 2
VOID, INT, UINT, FLOAT, OF_POINTER, ENUM, CLASS = 0, 2, 3, 4, 5, 6, 7


def problems(
    tmp_path: Path,
    *rows: tuple[int, int, int, int],
    x: str = "float64",
    result: str = "float64",
    k: float = 3,
    call: FunctionCall = CALL,
) -> dict[str, str]:
    """The contradictions of a call, by their keys."""
    numbers = [number for row in rows for number in row]
    ptx = tmp_path / "f.ptx"
    ptx.write_text(f".u32 gpuregress_signature[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};")
    buffers = {name: Buffer(name, dtype, (4,)) for name, dtype in (("x", x), ("result", result))}
    case = replace(fakes.case("scale"), buffers=buffers, function=call, parameters={"k": k})
    program = Program("key", str(ptx), "", {}, {}, "nvrtc", (), "sm_90")
    return {".".join(map(str, key)): text for key, text in compiled_types.contradictions(case, program).items()}


DOUBLE = (VALUE, FLOAT, 8, 0)
WHOLE = (VALUE, INT, 4, 0)


def test_types_that_fit(tmp_path: Path) -> None:
    assert problems(tmp_path, DOUBLE, DOUBLE, WHOLE) == {}
    assert (
        problems(tmp_path, (VALUE, CLASS, 8, 0), (1, CLASS, 16, 1), WHOLE, x="float4", result="{a:int32,b:int8}") == {}
    )
    assert problems(tmp_path, (VALUE, ENUM, 4, 0), (POINTER, VOID, 0, 1), WHOLE, result="uint32") == {}


@pytest.mark.parametrize(
    ("rows", "given", "key", "message"),
    [
        ((DOUBLE, (VALUE, FLOAT, 4, 0), WHOLE), {}, "buffers.x.dtype", "is real: float32"),
        ((DOUBLE, (VALUE, INT, 8, 0), WHOLE), {}, "buffers.x.dtype", "is real: int64"),
        ((DOUBLE, (POINTER, OF_POINTER, 8, 0), WHOLE), {}, "buffers.x.dtype", "a pointer, and a buffer holds none"),
        (((VALUE, CLASS, 12, 0), DOUBLE, WHOLE), {}, "buffers.result.dtype", "returns a struct of 12 bytes"),
        (((VALUE, VOID, 0, 0), DOUBLE, WHOLE), {}, "buffers.result", "returns nothing"),
        ((DOUBLE, DOUBLE, WHOLE), {"k": 2.5}, "parameters.k", "k is 2.5, and the parameter is int: int32"),
        ((DOUBLE, DOUBLE, (VALUE, UINT, 1, 0)), {"k": 256}, "parameters.k", "k is 256, and the parameter is"),
        ((DOUBLE, DOUBLE, (VALUE, CLASS, 4, 0)), {}, "parameters.k", "give it a buffer k"),
        ((DOUBLE, DOUBLE, WHOLE), {"call": SILENT}, "buffers", "no buffer 'result' for what f(real, int)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_at_its_key(
    tmp_path: Path, rows: tuple[tuple[int, int, int, int], ...], given: dict[str, object], key: str, message: str
) -> None:
    found = problems(tmp_path, *rows, **given)  # type: ignore[arg-type] # one of several keywords
    assert list(found) == [key]
    assert message in found[key]


def test_a_program_without_the_table_is_not_judged(tmp_path: Path) -> None:
    case = replace(fakes.case("scale"), function=CALL)
    for ptx in ("", str(tmp_path / "gone.ptx")):
        assert compiled_types.contradictions(case, Program("key", ptx, "", {}, {}, "nvrtc", (), "sm_90")) == {}
