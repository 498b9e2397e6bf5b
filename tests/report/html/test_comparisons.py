"""A buffer that differs: indices as the buffer counts them, one picture for equal ones."""

from __future__ import annotations

from gpuregress.gpu.records import replace
from gpuregress.report.html import comparisons
from tests.report import samples as plain
from tests.report.html import samples
from tests.report.html.parsed import Tag, tree


def shown(verdict: object = None, **changes: object) -> Tag:
    entry = samples.entry(samples.drawn(**changes) if verdict is None else verdict)["buffers"][0]  # type: ignore[arg-type]
    return tree("\n".join(comparisons.buffer(entry, "reduce/differ")))


def test_elements_have_the_indices_of_the_buffer() -> None:
    root = shown()
    assert root.first("th", scope="row").text == "[1,0] worst"
    assert "the worst at [1,0], block 0, thread 2" in root.text
    heads = [one.text for one in root.first("table").all("th", scope="col")]
    assert heads == ["element", "baseline", "now", "absolute", "relative", "ulp"]


def test_the_same_comparison_is_told_once() -> None:
    root = shown()
    assert "out (reference): the same as against the baseline" in root.text
    assert len(root.all("figure")) == 1


def test_an_equal_picture_is_drawn_once() -> None:
    verdict = samples.drawn()
    (buffer,) = verdict.buffers
    first, second = buffer.comparisons
    other = replace(buffer, comparisons=(first, replace(second, differing=2)))
    root = shown(replace(verdict, buffers=(other,)))
    assert len(root.all("figure")) == 1
    assert "the picture is the same as against the baseline" in root.text


def test_the_histogram_and_the_description_of_the_picture() -> None:
    root = shown()
    assert "3-4" in root.first("details", class_="ulp").text
    assert "it looks like: the tail from element 5 on" in root.first("desc").text


def test_without_a_picture_an_index_is_flat() -> None:
    root = shown(plain.summary().verdicts[1])
    assert [one.text for one in root.all("th", scope="row")] == ["[5] worst"]
    assert not root.all("figure")
