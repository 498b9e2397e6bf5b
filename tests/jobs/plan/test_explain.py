from __future__ import annotations

import re
from pathlib import Path

from gpuregress.jobs.plan.explain import explain
from tests.jobs.plan.projects import FULL, only, project


def test_explain_says_every_number(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=FULL)
    text = "\n".join(explain(only(example, "reduce/n=1000,tile=128")))
    assert "block_sum<float><<<(8,1,1),(128,1,1),512>>>(sum=<32>, x=<4000>, n=1000)" in text
    assert "x: float32 [1000], 4000 bytes, normal (mean 0.0, std 2.0), seed " in text
    assert "-DTILE=128" in text
    assert re.search(r"^compare   sum: verify: /.*/reference.py:totals_agree, rtol 1e-05$", text, re.MULTILINE)
    assert "{" not in text.replace("{n", "")
