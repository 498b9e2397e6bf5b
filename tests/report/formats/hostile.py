"""Runs with texts that break formats, for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from gpuregress.foundation.records import KnownFailing, Missing, RunSummary, SourceLocation
from gpuregress.gpu.records import replace
from tests.report.samples import summary, verdict

TEXT = st.text(max_size=30) | st.sampled_from(
    [
        "::error::x",
        "x\n  ::error::y\n##[error]z",
        "x\npass  everything",
        "##[group]a",
        "a%0Ab",
        "# SKIP",
        "\\# TODO",
        "</pre><b>",
        "]]>",
        "a|b`c",
        "  ---",
        "...",
        "\u2028",
        "x\r\ny",
        "\0",
    ]
)
STATUS = st.sampled_from(["pass", "differ", "new", "fault", "timeout", "error", "skip"])


@st.composite
def runs(draw: st.DrawFn) -> RunSummary:
    verdicts = []
    for number in range(draw(st.integers(0, 3))):
        status = draw(STATUS)
        location = draw(st.none() | st.builds(SourceLocation, TEXT.map(lambda text: f"/p/{text}"), st.integers(0, 99)))
        changes = {"job": draw(TEXT), "case": f"{draw(TEXT)}{number}", "reason": draw(TEXT), "notes": (draw(TEXT),)}
        known = draw(st.none() | st.builds(KnownFailing, TEXT, TEXT, st.just("differ"))) if status == "skip" else None
        verdicts.append(verdict(status, location=location, known=known, **changes))
    missing = tuple(Missing(draw(TEXT), (draw(TEXT),)) for _ in range(draw(st.integers(0, 1))))
    return replace(
        summary(),
        verdicts=tuple(verdicts),
        missing=missing,
        notes=(draw(TEXT),),
        run=draw(TEXT),
        exit_code=draw(st.sampled_from([0, 1, 4])),
    )
