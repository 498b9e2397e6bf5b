from __future__ import annotations

from gpuregress.virtual_gpu.ptx.operands import Scopes


def test_an_inner_declaration_hides_the_outer_one_until_its_scope_is_left() -> None:
    scopes = Scopes()
    assert scopes.declare("x", is_register=True) == "x"
    scopes.enter(set())
    assert scopes.declare("x", is_register=False) == "x@2"
    assert scopes.resolve("x") == "x@2"
    assert not scopes.is_register("x@2")
    scopes.leave()
    assert scopes.resolve("x") == "x"
    assert scopes.is_register("x")


def test_labels_are_known_before_their_definition_and_apart_from_names() -> None:
    scopes = Scopes()
    scopes.enter({"L"})
    scopes.declare("L", is_register=True)
    assert (scopes.label("L"), scopes.resolve("L")) == ("L", "L@2")
    scopes.leave()
    scopes.enter({"L"})
    assert scopes.label("L") == "L@3"


def test_names_of_the_module_and_special_registers_need_no_declaration() -> None:
    scopes = Scopes()
    assert scopes.resolve("table") == "table"
    assert scopes.is_register("%tid.x")
    assert not scopes.is_register("table")
