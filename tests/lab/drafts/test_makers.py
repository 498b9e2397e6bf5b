from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import MemberLayout, TypeLayout
from gpuregress.lab.drafts import fills
from gpuregress.lab.drafts.types import KnownTypes
from gpuregress.lab.host_programs import program
from gpuregress.lab.host_programs.interpreter import Interpreter
from gpuregress.lab.host_programs.objects import ArrayPointer

LAYOUTS = {
    "In": TypeLayout("class", 8, (MemberLayout("p", "const int*", "pointer", 0, 8, 1),)),
    "Out": TypeLayout("class", 8, (MemberLayout("p", "int*", "pointer", 0, 8, 1),)),
}


@pytest.mark.parametrize(
    ("parameter", "argument", "writer"),
    [
        ("int *p", "x", "make"),
        ("const int *p", "x", None),
        ("Out s", "o", "make"),
        ("In s", "i", None),
        ("Unknown s", "u", "make"),
        ("cudaSurfaceObject_t s", "x", "make"),
    ],
)
def test_the_last_launch_that_may_write_an_array(
    tmp_path: Path, parameter: str, argument: str, writer: str | None
) -> None:
    source = tmp_path / "app.cu"
    source.write_text(
        "struct In { const int *p; }; struct Out { int *p; }; struct Unknown { int *p; };\n"
        f"__global__ void make({parameter}) {{}}\n"
        "__global__ void other(int *p) {}\n__global__ void use(int *p) {}\n"
        "int main() { int *x, *y; cudaMalloc(&x, 40); cudaMalloc(&y, 40); In i; i.p = x; Out o; o.p = x; Unknown u;\n"
        f"u.p = x; make<<<1, 1>>>({argument}); other<<<1, 1>>>(y); use<<<1, 1>>>(x); }}\n"
    )
    files = program.read(source)
    run = Interpreter(files)
    run.run()
    *earlier, last = run.launches
    (pointer,) = last.arguments
    assert isinstance(pointer, ArrayPointer)
    found = fills.last_writer(pointer.memory, earlier, files, KnownTypes({}, LAYOUTS))
    assert (found.kernel if found is not None else None) == writer
