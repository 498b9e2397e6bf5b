from __future__ import annotations

from gpuregress.report.html import fragments
from tests.report.html.parsed import tree


def test_one_line_is_a_paragraph_several_are_a_list() -> None:
    assert tree("".join(fragments.listed("Notes", ["<a>"]))).first("p").text == "Notes: <a>"
    assert [one.text for one in tree("".join(fragments.listed("Notes", ["a", "b"]))).all("li")] == ["a", "b"]
    assert not list(fragments.listed("Notes", []))


def test_what_scrolls_can_be_reached_with_the_keyboard_and_has_a_name() -> None:
    (short,), (long,) = (tree("".join(fragments.preformatted(["x"] * n, "log"))).all("pre") for n in (2, 50))
    assert not short.attributes
    assert (long.attributes["tabindex"], long.attributes["aria-label"]) == ("0", "log")
    (part,) = tree("".join(fragments.scrolling("table", iter(["<p>x</p>"])))).all("div")
    assert (part.attributes["tabindex"], part.attributes["aria-label"], part.text) == ("0", "table", "x")


def test_numbers_in_few_digits() -> None:
    assert [fragments.short(one) for one in (None, 0.123456, 7, "inf")] == ["", "0.123", "7", "inf"]
    assert [fragments.plural(n, "case") for n in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
