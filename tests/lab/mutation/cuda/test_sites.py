"""Probes: a trap where a place is reached, before its expression or its statement."""

from __future__ import annotations

from pathlib import Path

from gpuregress.lab.mutating import cuda_mutants, device_code, mutants


def probes(body: str, operator: str) -> list[str]:
    text = f"__global__ void k(int n, float *a) {{ {body} }}"
    found = cuda_mutants.find_mutants(device_code.reached({Path("/k.cu"): text}, ["k"]))
    (one,) = [one for one in found if one.operator == operator]
    texts = [mutants.apply(text, edits) for edits in one.probes]
    return [text.partition("{ ")[2][:-2] for text in texts]


def test_an_expression_traps_before_its_value_and_then_before_its_statement() -> None:
    assert probes("if (n) n = n + 1;", "plus-minus") == [
        "if (n) n = (__trap(), n + 1);",
        "if (n) { __trap(); n = n + 1; }",
    ]


def test_a_declaration_keeps_its_scope() -> None:
    assert probes("double d = n;", "double-float") == ["__trap(); double d = n;"]
    before = "n = 1; __shared__ alignas(8) "
    assert probes(f"{before}float t[2];", "shared-array-small") == [
        "n = 1; __trap(); __shared__ alignas(8) float t[2];"
    ]


def test_the_head_of_a_loop_traps_before_the_loop() -> None:
    (inner, outer) = probes("for (int i = 0; i < n; ++i) n = 0;", "boundary")
    assert inner == "for (int i = 0; (__trap(), i < n); ++i) n = 0;"
    assert outer == "{ __trap(); for (int i = 0; i < n; ++i) n = 0; }"


def test_a_barrier_is_a_statement() -> None:
    assert probes("if (n) __syncthreads();", "barrier-removed") == ["if (n) { __trap(); __syncthreads(); }"]
