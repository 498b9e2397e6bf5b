"""`gpuregress show`: the plan of one case, its PTX and its LLVM IR."""

from __future__ import annotations

import json

from tests.workshop import Workshop


def test_the_plan_has_every_number_worked_out(shop: Workshop) -> None:
    output = shop.call("show", "scale/n=100").stdout
    assert "scale<<<(4,1,1),(32,1,1),0>>>" in output
    assert json.loads(shop.call("show", "scale", "--json").stdout)["name"] == "scale/n=100"


def test_the_program_is_shown_as_ptx_and_as_llvm_ir(shop: Workshop) -> None:
    assert ".visible .entry scale" in shop.call("show", "scale", "--ptx").stdout
    assert "define" in shop.call("show", "scale", "--llvm").stdout


def test_several_cases_are_named_to_choose_from(shop: Workshop) -> None:
    shop.job(("n: [100]", "n: [100, 200]"))
    output = shop.fails(2, "show", "scale")
    assert "scale/n=100, scale/n=200" in output


def test_the_source_is_shown_as_it_is_compiled(shop: Workshop) -> None:
    path = shop.root / "kernels" / "scale.cu"
    path.write_text(f'#include <cstdio>\n{path.read_text()}\nint main()\n{{\n    printf("host");\n}}\n')
    shown = shop.call("show", "scale", "--source").stdout
    assert "__global__" in shown
    assert "printf" not in shown
    assert shown.count("\n") == path.read_text().count("\n")
    shop.job(("source:", "compile: {host_code: keep}\nsource:"))
    assert "printf" in shop.call("show", "scale", "--source").stdout
