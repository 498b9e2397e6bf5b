"""Templates: what is escaped, and the pieces that pages share."""

from __future__ import annotations

from gpuregress.report import case_lines
from gpuregress.report.html import templates
from tests.report.html.parsed import tree


def test_one_line_is_a_paragraph_several_are_a_list() -> None:
    assert tree(templates.fragment("pieces.html", "listed", "Notes", ["<a>"])).first("p").text == "Notes: <a>"
    lines = tree(templates.fragment("pieces.html", "listed", "Notes", ["a", "b"])).all("li")
    assert [line.text for line in lines] == ["a", "b"]
    assert not templates.fragment("pieces.html", "listed", "Notes", []).strip()


def test_what_scrolls_can_be_reached_with_the_keyboard_and_has_a_name() -> None:
    short, long = (
        tree(templates.fragment("pieces.html", "preformatted", ["x"] * count, "<log>")).first("pre")
        for count in (2, 50)
    )
    assert not short.attributes
    assert (long.attributes["tabindex"], long.attributes["aria-label"]) == ("0", "<log>")


def test_control_characters_and_commands_to_ci_servers_are_made_visible() -> None:
    piece = templates.fragment("pieces.html", "status", "\x1b[31m ##[error]x")
    assert "\\x1b[31m #&#35;[error]x" in piece


def test_numbers_in_few_digits() -> None:
    assert [case_lines.short(number) for number in (None, 0.123456, 7, "inf")] == ["", "0.123", "7", "inf"]
