from __future__ import annotations

import subprocess
import sys

import pytest

from gpuregress import __version__
from gpuregress.execution.cluster import versions
from gpuregress.toolchain import cache

HERE = {"python": f"{sys.version_info.major}.{sys.version_info.minor}", "gpuregress": __version__}


def test_the_question_is_answered_by_a_plain_python() -> None:
    code = f"print(eval({versions.QUESTION!r}))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.strip() == str(HERE)
    bare = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'gpuregress': ''" in bare


def test_equal_versions_are_no_problem() -> None:
    assert versions.problem(HERE) == ""
    assert versions.code_problem(cache.code_digest()) == ""


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"python": "2.7"}, "it has Python 2.7, and this is Python 3"),
        ({"gpuregress": ""}, "gpuregress is not installed there: pip install 'gpuregress[cluster]'"),
        ({"gpuregress": "0.0.1"}, "it has gpuregress 0.0.1, and this is"),
    ],
)
def test_other_versions_are_named(told: dict[str, str], problem: str) -> None:
    assert problem in versions.problem({**HERE, **told})


def test_other_code_of_one_version_is_named() -> None:
    assert "has other code (0123)" in versions.code_problem("0123")
