from __future__ import annotations

import dataclasses

from gpuregress.session.compilation import kernel_arguments
from tests.session.compilation.crews import case_of


def test_a_job_is_held_against_its_kernels_by_one_case() -> None:
    cases = [case_of("a", "/one.cu"), case_of("b", "/one.cu"), case_of("c", "/two.cu")]
    assert [case.name for case in kernel_arguments.samples(cases)] == ["a", "c"]
    other = dataclasses.replace(cases[1], path="another job")
    assert [case.name for case in kernel_arguments.samples([cases[0], other])] == ["a", "b"]
