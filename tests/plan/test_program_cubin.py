from __future__ import annotations

from gpuregress import plan
from gpuregress.records import Argument, Entry, Launch, Parameter, Program
from tests import fakes

WORD = Parameter(8, 8, "word")
FOUR = Parameter(4, 4, "struct")


def _problems(*arguments: Argument, cubin: str = "/k.cubin", ptx: str = "") -> list[str]:
    program = Program("key", ptx, cubin, {"k": Entry("k", (WORD, FOUR))}, {}, "cubin as given", (), "sm_90")
    case = fakes.case("k", launches=(Launch("k", (1, 1, 1), (1, 1, 1), 0, arguments),))
    return [error.message for error in plan.check_program(case, program)]


def test_machine_code_tells_sizes_only() -> None:
    double, single = Argument("scalar", dtype="float64"), Argument("scalar", dtype="float32")
    pair = Argument("struct", fields=(single, single))
    for first in (double, pair, Argument("buffer", buffer="x"), Argument("null"), Argument("scalar", dtype="int64")):
        assert _problems(first, single) == []
    (message,) = _problems(single, single)
    assert message.startswith("float32 has 4 bytes and the parameter has 8 bytes; the kernel is k(")


def test_ptx_tells_more() -> None:
    (message,) = _problems(Argument("scalar", dtype="float64"), Argument("scalar", dtype="float32"), ptx="/k.ptx")
    assert message.startswith("float64 is a float and")
