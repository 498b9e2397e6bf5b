"""Overloaded kernels: by their arguments, by the types of their parameters, and by mangled names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import workshop
from tests.workshop import Workshop

SOURCE = """\
// $Revision: 1.0 $
struct Pair { int a; float b; };
typedef float real;
__global__ void norm(float* y, int n) { y[0] = n; }
namespace s {
struct Own { int a; };
__global__ void scale(real* volatile y, const volatile int* by) { y[0] = 10 * by[0]; }
__global__ void scale(real* y, int by) { y[0] = 20 * by; }
__global__ void scale(double* y, int by) { y[0] = 30 * by; }
__global__ void scale(Pair* y, int by);
__global__ void scale(Pair* first, int by) { first->a = 40 * by; }
__global__ void scale(Own* y) { y->a = 50; }
template <typename T> __global__ void scale(T* y, int by) { y[0] = 60 * by; }
template <typename T> __global__ void scale(T* y) { y[0] = 70; }
}
namespace t { __global__ void scale(float* y, int by, int more) { y[0] = 80; } }
"""
DTYPES = {"f": "float32", "d": "float64", "i": "int32", "p": "{a: int32, b: float32}"}
CHOSEN = {
    ("norm", "f, {int32: 7}"): "7.0",  # the C++ library has a norm, too
    ("s::scale", "f, by"): "10.0",
    ("s::scale", "f, {int32: 2}"): "40.0",
    ("s::scale", "d, {int32: 2}"): "60.0",
    ("s::scale", "p, {int32: 2}"): "80 1.0",
    ("s::scale", "{pointer: i}"): "50",
    ("s::scale<int>", "i, {int32: 2}"): "120",
    ("s::scale<int>", "i"): "70",
    ("s::scale(Own*)", "i"): "50",
    ("s::scale( float *y, int )", "f, {int32: 2}"): "40.0",
    ("s::scale<float>(float*, int)", "f, {int32: 2}"): "120.0",
    ("_ZN1s5scaleEPdi", "d, {int32: 2}"): "60.0",
    ("_ZN1s5scaleIiEEvPT_", "i"): "70",
    ("t::scale", "f, {int32: 2}, {int32: 2}"): "80.0",
}
REFUSED = {
    ("s::scale", "f, by, by"): (
        "k.cu: 's::scale' is overloaded, and not one alone fits; it has s::scale(real*, const volatile int*), "
        "s::scale(real*, int), s::scale(double*, int), s::scale(Pair*, int), s::scale(Own*): "
        "name it with the types of its parameters, as `kernel: s::scale(real*, const volatile int*)`"
    ),
    (
        "s::scale(char*, char)",
        "i, {int8: 1}",
    ): "k.cu has no kernel 's::scale(char*, char)'; it has s::scale(real*, const volatile int*), ",
    ("s::scale(Unknown*)", "i"): "k.cu has no kernel 's::scale(Unknown*)'; it has",
    ("_ZN1s5scaleEPc", "i"): "k.cu has no kernel '_ZN1s5scaleEPc'; it has",
    ("_Z3oddPc", "i"): "k.cu has no kernel '_Z3oddPc'; it has norm, s::scale(real*, const volatile int*), ",
    ("s::scale(float*, int)", "d, {int32: 1}"): "the buffer b0 holds float64 and parameter 1 points to float32: give",
}
PTX = """\
.version 8.0
.target sm_90
.address_size 64
"""
ENTRY = """\
.visible .entry {}(.param .u64 y)
{{
.reg .b64 %a;
ld.param.u64 %a, [y];
st.global.u32 [%a], {};
ret;
}}
"""


def job(shop: Workshop, launches: list[tuple[str, str]], source: str = "k.cu") -> None:
    """Write a job of launches, each with a buffer of its own, of the type that its first letter tells."""
    buffers, written = [], []
    for number, (kernel, args) in enumerate(launches):
        letter = args.removeprefix("{pointer: ")[0]
        buffers.append(f"  b{number}: {{dtype: {DTYPES[letter]}, shape: [1], fill: ones}}")
        given = args.replace(letter, f"b{number}", 1) if args[0] == letter else f"{{pointer: b{number}}}"
        written.append(f'  - {{kernel: "{kernel}", grid: [1], block: [1], args: [{given}]}}')
    if any(", by" in args for _, args in launches):
        buffers.append("  by: {dtype: int32, shape: [1], fill: ones}")
    dumped = ", ".join(f"b{number}" for number in range(len(launches)))
    lines = [f"source: ../kernels/{source}", "buffers:", *buffers, "launches:", *written, f"dump: [{dumped}]", ""]
    shop.write("configs/k.yaml", "\n".join(lines))


def values(shop: Workshop) -> list[str]:
    """Run the job; the first line of each dump."""
    result = shop.call(*workshop.RUN)
    assert result.exit_code == 1, result.output
    (folder,) = {dump.parent for dump in (shop.root / "runs/latest/dumps").rglob("b0*")}
    dumps = sorted(folder.glob("b*"), key=lambda dump: int(dump.name.partition(".")[0][1:]))
    return [next(line for line in dump.read_text().splitlines() if not line.startswith("#")) for dump in dumps]


def test_a_kernel_is_chosen_by_arguments_types_and_mangled_name(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/k.cu", SOURCE)
    job(shop, [*CHOSEN])
    assert values(shop) == [*CHOSEN.values()]


@pytest.mark.parametrize("asked", REFUSED)
def test_what_fits_none_or_several_is_refused(tmp_path: Path, asked: tuple[str, str]) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/k.cu", SOURCE)
    job(shop, [asked])
    stderr = shop.fails(2, "check")
    line = 6 if ", by" in asked[1] else 5
    assert f"configs/k.yaml:{line}: launches[0]." in stderr
    assert REFUSED[asked] in stderr


def test_overloads_of_ptx_are_named_by_their_types(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/k.ptx", PTX + ENTRY.format("_Z1kPi", 1) + ENTRY.format("_Z1kPf", 2))
    job(shop, [("k(float*)", "i"), ("_Z1kPi", "i")], "k.ptx")
    assert values(shop) == ["2", "1"]
