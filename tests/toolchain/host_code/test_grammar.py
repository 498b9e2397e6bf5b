from __future__ import annotations

from gpuregress.toolchain.host_code import grammar

NESTED = "void f() { a(b(1)); k<<<1, 2>>>(c()); }"


def test_nodes_are_found_in_the_text_s_order() -> None:
    tree = grammar.root(NESTED)
    inner = [grammar.text(node) for node in grammar.everywhere(tree, "call_expression")]
    assert inner == ["a(b(1))", "b(1)", "k<<<1, 2>>>(c())", "c()"]
    assert [grammar.text(node) for node in grammar.descendants(tree, "call_expression")] == [inner[0], inner[2]]
