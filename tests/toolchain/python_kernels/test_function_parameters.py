from __future__ import annotations

from gpuregress.toolchain.python_kernels.function_parameters import FunctionParameter, of_function

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
