from __future__ import annotations

from gpuregress.toolchain.python_kernels.function_parameters import (
    FunctionParameter,
    decorators,
    of_function,
)

TEXT = b"""
def other(): ...
@jit
def kernel(x, n, BLOCK: tl.constexpr, STAGES: constexpr = 2, *, late: "tl.constexpr"):
    def inner(y): ...
"""


def test_names_constants_and_defaults() -> None:
    assert of_function(TEXT, "kernel") == (
        FunctionParameter("x", is_constant=False, has_default=False),
        FunctionParameter("n", is_constant=False, has_default=False),
        FunctionParameter("BLOCK", is_constant=True, has_default=False),
        FunctionParameter("STAGES", is_constant=True, has_default=True),
        FunctionParameter("late", is_constant=True, has_default=False),
    )


def test_what_is_not_known() -> None:
    assert of_function(TEXT, "inner") is None, "it is not at the top level"
    assert of_function(b"def kernel(*all): ...", "kernel") is None
    assert of_function(b"kernel = make()", "kernel") is None
    assert of_function(b"def (", "kernel") is None


def test_the_last_definition_counts() -> None:
    assert of_function(b"def k(a): ...\ndef k(b): ...", "k") == (FunctionParameter("b", False, False),)


def test_decorators_and_what_heuristics_compute() -> None:
    head = b"@triton.autotune(configs=list_of(), key=[])\n@triton.heuristics(%s)\n@triton.jit\n"
    text = head + b"def k(x, A: tl.constexpr, B: tl.constexpr): ..."
    literal = text % b"{'A': lambda a: 1}"
    assert decorators(literal, "k") == ("autotune", "heuristics", "jit")
    assert decorators(literal, "l") == ()
    named = of_function(literal, "k")
    assert named is not None
    assert [one.has_default for one in named] == [False, True, False]
    unknown = of_function(text % b"values=TABLE", "k")
    assert unknown is not None
    assert [one.has_default for one in unknown] == [False, True, True], "any of the constants may be in the table"
