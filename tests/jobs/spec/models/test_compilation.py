from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.models.values import PlainTextSpec


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (128, 128),
        (True, 1),
        ("tile * 2", "tile * 2"),
        (None, PlainTextSpec(text="")),
        ({"text": "float"}, PlainTextSpec(text="float")),
        ("vec<{real}>", PlainTextSpec(text="vec<{real}>")),
    ],
)
def test_defines(given: Any, value: Any) -> None:
    (group,) = CompileSpec.of({"defines": {"X": given}}).defines.groups
    assert group.given["X"] == value


def test_all_parameters_or_a_list() -> None:
    def groups(given: Any) -> list[tuple[str, list[str]]]:
        found = CompileSpec.of({"defines": given}).defines.groups
        return [(group.parameter, list(group.given)) for group in found]

    assert groups("all") == [("all", [])]
    assert groups(["all", "tile", {"A": 1, "B": 2}]) == [("all", []), ("tile", []), ("", ["A", "B"])]
    assert groups({"all": 1}) == [("", ["all"])]


@pytest.mark.parametrize("given", ["const float*", [1], {"text": 5}, {"txt": "a"}])
def test_other_defines_are_refused(given: Any) -> None:
    with pytest.raises(FormErrors):
        CompileSpec.of({"defines": {"X": given}})


@pytest.mark.parametrize("given", ["tile", 3, [3], [["tile"]]])
def test_other_forms_of_defines_are_refused(given: Any) -> None:
    with pytest.raises(FormErrors, match="expected all, a mapping such as"):
        CompileSpec.of({"defines": given})


def test_an_architecture_is_one_of_the_compiler() -> None:
    assert CompileSpec.of({"arch": "sm_90a"}).arch == "sm_90a"
    with pytest.raises(FormErrors, match="unknown architecture 'sm_91'"):
        CompileSpec.of({"arch": "sm_91"})
