from __future__ import annotations

import pytest

from gpuregress.lab.host_programs.program import selected
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macro

X, Y = {"X": Macro("", is_function=False)}, {"Y": Macro("", is_function=False)}


@pytest.mark.parametrize(("defined", "expected"), [(X, "int b;"), (X | Y, "int c;")])
def test_the_branch_of_another_system_is_left_out(defined: dict[str, Macro], expected: str) -> None:
    text = "#ifdef _WIN32\nint a;\n#elif defined(X) && !defined(Y)\nint b;\n#else\nint c;\n#endif\n"
    assert " ".join(selected(CxxText(text), dict(defined)).split()) == expected


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("N > 2", True),
        ("N == 3 && M", False),
        ("AT_LEAST(2)", True),
        ("AT_LEAST(4)", False),
        ("TWICE(N) == 6 && !defined M", True),
        ("OTHER(2)", True),
        ("OTHER(2) && 0", False),
        ("(N << 2) == 12 ? 0 : 1", False),
        ("ITSELF", True),
        ("0x10u == 16", True),
        ("1 / 0", True),
        ("N +", True),
        ("__cplusplus >= 201703L", True),
        ("__CUDA_ARCH__ >= 700", False),
    ],
)
def test_conditions_with_macros(condition: str, *, holds: bool) -> None:
    head = "#define N 3\n#define AT_LEAST(n) (N >= n)\n#define TWICE(n) 2 * n\n#define ITSELF ITSELF\n"
    text = f"{head}#if {condition}\nint a;\n#else\nint b;\n#endif\n"
    assert ("int a;" in selected(CxxText(text), {})) == holds


def test_macros_of_branches_that_are_not_compiled_are_not_defined() -> None:
    text = "#if 0\n#define A 1\n#else\n#define A 0\n#endif\n#if A\nint a;\n#endif\n#undef A\n#ifdef A\nint b;\n#endif"
    assert not selected(CxxText(text), {}).split()
