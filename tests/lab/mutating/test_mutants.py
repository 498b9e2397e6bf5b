"""Mutants as edits: applied, shown as a diff, sampled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.lab.mutating import mutants
from gpuregress.lab.mutating.mutants import OPERATORS, Edit, Mutant, by_name


def mutant(number: int = 0) -> Mutant:
    return Mutant("constant", "/k.cu", 1, str(number), str(number + 1), (Edit(number, number, ""),))


@given(st.text(), st.lists(st.integers(0, 30), min_size=2, max_size=2), st.text())
def test_an_edit_changes_its_span_alone(text: str, ends: list[int], new: str) -> None:
    start, end = sorted(min(one, len(text)) for one in ends)
    assert mutants.apply(text, [Edit(start, end, new)]) == text[:start] + new + text[end:]


def test_edits_are_applied_in_order() -> None:
    assert mutants.apply("a[i][j]", [Edit(5, 6, "i"), Edit(2, 3, "j")]) == "a[j][i]"


def test_a_diff_names_the_file_and_the_line() -> None:
    text = "a\nb\ni < n\nc\nd\ne"
    one = mutants.of_edits("boundary", "/k.cu", text, [Edit(6, 7, "<=")], (), (4, 9))
    assert (one.line, one.what) == (3, "`i < n` → `i <= n`")
    assert mutants.diff(text, one, "k.cu", context=1) == (
        "--- a/k.cu\n+++ b/k.cu\n@@ -2,3 +2,3 @@\n b\n-i < n\n+i <= n\n c\n"
    )


def test_a_long_surrounding_is_not_shown() -> None:
    text = "x" * 100 + "<" + "y" * 100
    assert mutants.of_edits("boundary", "/k.cu", text, [Edit(100, 101, "<=")], (), (0, 201)).what == "`<` → `<=`"
    assert mutants.of_edits("barrier-removed", "/k.cu", "f();", [Edit(0, 4, "")]).what == "`f();` → nothing"


@given(st.integers(0, 40), st.one_of(st.none(), st.integers(1, 50)), st.integers(0, 5))
def test_a_sample_keeps_the_order_and_its_seed(count: int, limit: int | None, seed: int) -> None:
    every = [mutant(number) for number in range(count)]
    chosen = mutants.sample(every, limit, seed)
    assert len(chosen) == min(count, limit or count)
    assert chosen == [one for one in every if one in chosen] == mutants.sample(every, limit, seed)


def test_other_seeds_choose_others() -> None:
    every = [mutant(number) for number in range(100)]
    assert len({tuple(mutants.sample(every, 5, seed)) for seed in range(4)}) == 4


def test_spread_takes_turns_of_the_operators_and_of_the_lines() -> None:
    places = [("constant", 1), ("constant", 1), ("constant", 2), ("boundary", 3), ("barrier-removed", 4)]
    every = [
        Mutant(operator, "/k.cu", line, "a", "b", (Edit(number, number, ""),))
        for number, (operator, line) in enumerate(places)
    ]
    for seed in range(5):
        order = mutants.spread(every, seed)
        assert [one.operator for one in order] == ["boundary", "constant", "barrier-removed", "constant", "constant"]
        assert {one.line for one in order if one.operator == "constant"} == {1, 2}
        assert len({order[1].line, order[3].line}) == 2, "each line first once"
        assert order == mutants.spread(every, seed)


def test_a_diff_shows_bytes_that_are_not_utf8() -> None:
    text = b"i < n; // gr\xf6\xdfe\x0c\nb".decode(errors="surrogateescape")
    one = mutants.of_edits("boundary", "/k.cu", text, [Edit(2, 3, "<=")])
    assert mutants.diff(text, one, "k.cu").encode()
    assert "@@ -1,2 +1,2 @@" in mutants.diff(text, one, "k.cu")


def test_copies_have_a_probe_of_infection_only_where_each_has() -> None:
    """Else an infection by one without would be taken for none."""
    with_one, without = (
        Mutant("constant", "k.ptx", 1, "1", "2", (Edit(at, at + 1, "2"),), infection=infection)
        for at, infection in ((0, (Edit(0, 1, "trap"),)), (5, ()))
    )
    assert len(mutants.together([with_one, with_one]).infection) == 2
    assert not mutants.together([with_one, without]).infection


def plus_minus() -> None: ...


def test_functions_by_the_names_of_operators() -> None:
    assert by_name(plus_minus) == {"plus-minus": plus_minus}
    assert "plus-minus" in OPERATORS
