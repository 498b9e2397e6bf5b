"""The lines of a run while it goes on."""

from __future__ import annotations

import re

from tests.workshop import KERNEL, RUN, Workshop, accepted, change


def test_quiet_says_nothing_when_all_is_well(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert fake_shop.call(*RUN, "-q").output == ""
    change(fake_shop)
    assert "differ" in fake_shop.call(*RUN, "-q").stdout


def test_quiet_names_what_went_wrong_and_why(fake_shop: Workshop) -> None:
    """An error has no table and no details of its own: its reason stands in the case's line, or nowhere."""
    fake_shop.write("kernels/scale.cu", KERNEL.replace("int i", "integer i"))
    printed = fake_shop.call(*RUN, "-q").stdout
    assert re.search(r"^error +scale/n=100 .*integer", printed, re.MULTILINE)
