"""Struct arguments whose members a job gives by name, placed as the compiler has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workshop import Workshop

KERNEL = """\
struct Base { int rows; bool flag; const float *__restrict__ in; unsigned stride; };
struct Inner { float a; double b; };
enum Mode { SLOW, FAST };
struct Params : Base {
    float4 v; Inner inner[2]; int dims[3]; float *out; Mode mode;
    union { float f; int i; }; int low : 3; int high : 5; Inner last;
};
template <typename K> __global__ void kernel(Params p) {
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&p);
    int padding = 0;
    for (int i = 5; i < 8; i++) padding += bytes[i];
    p.out[0] = p.rows + p.flag + p.in[1] + p.stride;
    p.out[1] = p.v.w + p.inner[1].b + p.dims[2] + p.mode + p.f + p.low + p.last.b + padding;
}
"""
JOB = """\
source: ../k.cu
buffers:
  x: {dtype: float32, shape: [4], fill: arange}
  out: {dtype: float32, shape: [2]}
launches:
  - kernel: kernel<int>
    grid: [1]
    block: [1]
    args:
      - struct:
          out: out
          rows: {int32: 2}
          flag: {bool: true}
          in: x
          stride: {uint32: 7}
          v: {float4: [1, 2, 3, 4]}
          inner: [{struct: {a: {float32: 1}, b: {float64: 2}}}, {struct: {a: {float32: 3}, b: {float64: 5}}}]
          dims: [{int32: 1}, {int32: 2}, {int32: 3}]
          mode: {int32: 1}
          union_108: {float32: 0.5}
          low: {int32: 2}
          last.a: {float32: 1}
          last.b: {float64: 16}
"""
WRONG = {
    (
        "stride:",
        "strid:",
    ): "Params has no member 'strid'; did you mean 'stride'?; its members are rows, flag, in, stride",
    ("          stride: {uint32: 7}\n", ""): "Params has members that are not given: stride;",
    ("rows: {int32: 2}", "rows: {int64: 2}"): "rows of Params has 4 bytes, and 8 bytes are given",
    ("rows: {int32: 2}", "rows: {float32: 2}"): "Params has int rows at 0, where the argument has rows (float32)",
    ("v: {float4", "v.x: {float32: 1}\n          v: {float4"): "v of Params shares bytes with another member",
    ("in: x", "in: y"): "launches[0].args[0].struct.in: unknown buffer 'y'",
    (
        "last.a: {",
        "last: {struct: {b: {float64: 1}}}\n          last.a: {",
    ): "last.b of Params shares bytes with another",
    ("low: {", "'low ': {"): "invalid member 'low '; expected its name in C++",
    ("float32, shape: [4]", "int32, shape: [4]"): "the buffer x holds int32 and in of parameter 'p' points to float32",
}


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    shop = Workshop(tmp_path)
    shop.write("k.cu", KERNEL)
    return shop


def test_members_by_name_are_where_the_compiler_has_them(shop: Workshop) -> None:
    shop.write("configs/k.yaml", JOB)
    shop.call("run", "--device", "cpu")
    (dump,) = shop.root.glob("runs/latest/dumps/k/out.*")
    assert dump.read_text().splitlines()[-2:] == ["11.0", "31.5"]
    (log,) = shop.root.glob("runs/latest/launch.log")
    assert "(Params={rows=2, flag=true, x=<16>, stride=7, v=(1.0, 2.0, 3.0, 4.0), inner[0].a=1.0," in log.read_text()


@pytest.mark.parametrize("change", WRONG)
def test_wrong_members_are_refused_with_those_that_there_are(shop: Workshop, change: tuple[str, str]) -> None:
    assert change[0] in JOB
    shop.write("configs/k.yaml", JOB.replace(*change, 1))
    assert WRONG[change] in shop.fails(2, "check")


PADDED = """\
struct In { float *p; int n; };
struct Params { In in[2]; int tail; In last; };
__global__ void kernel(Params p, int *out) {
    out[0] = p.in[0].n; out[1] = p.in[1].n; out[2] = p.tail; out[3] = p.last.n;
}
"""
OF_PADDED = """\
source: ../k.cu
buffers: {out: {dtype: int32, shape: [4]}}
launches:
  - kernel: kernel
    grid: [1]
    block: [1]
    args: [{struct: {IN, tail: {int32: 7}, last: {struct: [null, {int32: 8}]}}}, out]
"""
ELEMENTS = "'in[0]': {struct: [null, {int32: 5}]}, 'in[1]': {struct: [null, {int32: 6}]}"
WHOLE = "in: {struct: [{struct: [null, {int32: 5}]}, {struct: [null, {int32: 6}]}]}"


def test_a_structure_within_may_end_with_padding(shop: Workshop) -> None:
    """What a job puts into that padding would be lost."""
    shop.write("k.cu", PADDED)
    shop.write("configs/elements.yaml", OF_PADDED.replace("IN", ELEMENTS))
    shop.write("configs/whole.yaml", OF_PADDED.replace("IN", WHOLE))
    shop.call("run", "--device", "cpu")
    dumps = list(shop.root.glob("runs/latest/dumps/*/out.*"))
    assert [dump.read_text().split()[-4:] for dump in dumps] == [["5", "6", "7", "8"]] * 2
    shop.write("configs/wrong.yaml", OF_PADDED.replace("IN", ELEMENTS.replace("5}", "5}, {int32: 9}")))
    assert "in[0] of Params has 12 bytes, and 16 bytes are given" in shop.fails(2, "check")


@pytest.mark.parametrize(
    ("in_list", "where"),
    [
        ("[{int32: 1}, {struct: {p: null, n: {int32: 3}}}]", "struct[1]"),
        (
            "{a: {int32: 1}, in: {struct: [{struct: [{struct: {p: null, n: {int32: 3}}}]}]}}",
            "struct.in.struct[0].struct[0]",
        ),
    ],
)
def test_members_by_name_in_a_list_have_no_place(shop: Workshop, in_list: str, where: str) -> None:
    """Only the names around them would tell where they are."""
    head = JOB.partition("      - struct:")[0]
    shop.write("configs/k.yaml", f"{head}      - struct: {in_list}\n")
    message = shop.fails(2, "check")
    assert f"args[0].{where}: a structure with its members by name (p, …) in a list: give the members" in message


def test_members_by_name_need_the_compilers_types(shop: Workshop) -> None:
    shop.write("configs/k.yaml", JOB.replace("../k.cu", "../k.ptx").replace("kernel<int>", "k"))
    shop.write(
        "k.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .b8 p[144]) { ret; }\n"
    )
    assert "the compiler does not report the members of the parameter: list them" in shop.fails(2, "check")
