from __future__ import annotations

import pytest

from gpuregress.report import case_lines


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "cuda:0, cuda:1"])
def test_a_mark_can_be_taken_off_again(device: str) -> None:
    marked = f"sum/n=2{case_lines.mark(device)}"
    assert case_lines.parts(marked) == ("sum/n=2", device.partition(":")[0])


@pytest.mark.parametrize("name", ["sum/n=2", "sum [cpu]/n=2", "sum/n=2 [tpu]", "[cpu]", ""])
def test_other_names_stay_as_they_are(name: str) -> None:
    assert case_lines.parts(name) == (name, "")
