from __future__ import annotations

from gpuregress.toolchain.functions import declarations

TEXTS = [
    (
        "#define HD __host__ __device__\n"
        "HD float helper(float x) { return sinf(x) + tanh(double(x)); }\n"
        "HD float wave(float x) { return helper(x) + sqrtf(x) + powf (x, 2); }\n"
        "HD float plain(float x) { return fmaf(x, x, floor(x)); }\n"
        "HD float log2(float x, int) { return x; }\n"
        "HD float own(float x) { return log2(x, 1); }\n"
    )
]
FUNCTIONS = {one.name: one for one in declarations.device_functions(TEXTS)}


def test_functions_of_the_library_are_found_through_other_functions() -> None:
    assert declarations.of_function(FUNCTIONS["wave"], TEXTS) == ("powf", "sinf", "tanh")


def test_exact_functions_and_the_sources_own_do_not_count() -> None:
    assert declarations.of_function(FUNCTIONS["plain"], TEXTS) == ()
    assert declarations.of_function(FUNCTIONS["own"], TEXTS) == ()
