from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import (
    AnyOrderFigures,
    Comparison,
    Element,
    ErrorFigures,
    ErrorMaps,
    ErrorProfile,
    EstimateDistance,
    Figures,
    InOrderFigures,
    KolmogorovSmirnov,
    OutlierCounts,
    SampleFigures,
    SideCounts,
    UlpFigures,
    from_json,
    to_json,
)

COUNT = st.integers(0, 2**40)
ERROR = st.none() | st.floats(0, 1e300)
PROFILE = st.builds(
    ErrorProfile,
    st.tuples(st.integers(1, 9)),
    st.tuples(st.sampled_from([0.0, 1.5, float("inf")])),
    st.tuples(COUNT),
    st.tuples(COUNT),
)
COMMON = {
    "nan": st.none() | st.builds(SideCounts, COUNT, COUNT),
    "outliers": st.none() | st.builds(OutlierCounts, COUNT, COUNT, COUNT),
    "metrics": st.dictionaries(st.sampled_from(["max", "l2"]), ERROR, max_size=2),
    "in_order": st.none() | st.builds(InOrderFigures, st.booleans(), st.none() | COUNT, st.none() | COUNT),
    "any_order": st.none() | st.builds(AnyOrderFigures, st.booleans(), st.none() | COUNT, st.none() | COUNT),
    "statistics": st.dictionaries(
        st.just("value"),
        st.builds(
            SampleFigures,
            st.builds(SideCounts, COUNT, COUNT),
            mean=st.none() | st.builds(EstimateDistance, ERROR, ERROR, ERROR),
            ks=st.none() | st.builds(KolmogorovSmirnov, st.floats(0, 1), st.floats(0, 1)),
        ),
    ),
    "error_maps": st.none() | st.builds(ErrorMaps, st.none() | PROFILE, st.none() | PROFILE),
    "worst_thread": st.sampled_from(["", "block (1,0,0), thread (5,0,0)"]),
}
ERRORS = {
    "max_abs": ERROR,
    "max_rel": ERROR,
    "misplaced_nan_or_inf": COUNT,
    "worst": st.dictionaries(st.just("ulp"), st.builds(Element, COUNT, st.just(""), st.just("1"), st.just("2"))),
}
STEPS = {"max_ulp": ERROR, "ulp_histogram": st.lists(st.tuples(st.just("3-4"), COUNT), max_size=2).map(tuple)}
FIGURES = st.one_of(
    st.builds(Figures, **COMMON),
    st.builds(ErrorFigures, **COMMON, **ERRORS),
    st.builds(UlpFigures, **COMMON, **ERRORS, **STEPS),
)


@given(FIGURES)
def test_the_figures_of_a_comparison_survive_the_journal(figures: Figures) -> None:
    comparison = Comparison("y", "baseline", "r", same=False, identical=False, of=8, figures=figures)
    rebuilt = from_json(Comparison, to_json(comparison))
    assert (rebuilt, type(rebuilt.figures)) == (comparison, type(figures))


def test_keys_are_those_of_results_json() -> None:
    figures = UlpFigures(
        max_abs=1.0,
        max_rel=None,
        misplaced_nan_or_inf=0,
        worst={},
        max_ulp=None,
        ulp_histogram=(("0", 1),),
        nan=SideCounts(0, 1),
        worst_thread="block (0,0,0)",
        error_maps=ErrorMaps(ErrorProfile((1,), (0.0,), (0,), (1,))),
    )
    written = to_json(figures)
    assert written.keys() == {
        "max_abs",
        "max_rel",
        "misplaced_nan_or_inf",
        "worst",
        "max_ulp",
        "ulp_histogram",
        "nan",
        "place",
        "picture",
    }
    assert (written["nan"], written["picture"].keys()) == ({"expected": 0, "actual": 1}, {"strip"})
    assert to_json(Figures(expected="bitwise", actual="values vary", runs=2)) == {
        "expected": "bitwise",
        "found": "values vary",
        "runs": 2,
    }


@given(st.builds(UlpFigures, **COMMON, **ERRORS, **STEPS))
def test_figures_without_steps(figures: UlpFigures) -> None:
    without = to_json(figures.without_ulps())
    assert without == {
        key: value for key, value in to_json(figures).items() if not key.endswith(("_ulp", "_histogram"))
    }
