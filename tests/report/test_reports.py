from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Missing
from gpuregress.gpu.records import replace
from gpuregress.report import html, json_report, terminal
from gpuregress.report.formats import junit
from tests.report.samples import summary, verdict

ROOT = Path("/p")


_HOSTILE = "\x1b[31m\x9b\u202e\"'><script>alert(1)</script>"


def test_no_report_holds_a_control_character_or_a_tag_of_others() -> None:
    one = verdict("fault", case=_HOSTILE, reason=_HOSTILE, notes=(_HOSTILE,), changes=(_HOSTILE,), revision=_HOSTILE)
    run = replace(
        summary(), verdicts=(one,), notes=(_HOSTILE,), device=_HOSTILE, missing=(Missing(_HOSTILE, (_HOSTILE,)),)
    )
    reports = [html.render(run), junit.render(run, ROOT), json_report.render(run), terminal.full(run, root=ROOT)]
    for text in reports:
        assert not set(text) & set("\x1b\x9b\u202e")
    assert reports[0].count("<script") == 1  # its own
    assert "<script" not in reports[1]
