from __future__ import annotations

from gpuregress.lab.host_programs.contents import ArrayContents
from gpuregress.lab.host_programs.objects import HostArray, Listed, axes, dim3
from gpuregress.lab.host_programs.scalars import constant


def test_an_element_that_others_may_differ_from_is_a_guess() -> None:
    memory = HostArray("h", None, "", contents=ArrayContents(constant(3), is_filled=True))
    told = memory.element_value("a.cu:1")
    memory.contents = memory.contents.changed()
    guess = memory.element_value("a.cu:1")
    assert told is not None
    assert guess is not None
    assert [(one.number, one.is_known) for one in (told, guess)] == [(3, True), (3, False)]


def test_what_a_dim3_does_not_say_is_one() -> None:
    sizes = axes(dim3((constant(16), constant(4))))
    assert sizes is not None
    assert [one.number for one in sizes] == [16, 4, 1]
    assert axes(None) is None


def test_an_unknown_size_in_braces_keeps_its_axis() -> None:
    sizes = axes(Listed((constant(16), None, constant(2))))
    assert sizes is not None
    assert [(one.number, one.is_known) for one in sizes] == [(16, True), (1, False), (2, True)]
