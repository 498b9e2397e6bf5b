"""`gpuregress blame`: who accepted a baseline, when and why."""

from __future__ import annotations

import json
import re

from tests.workshop import RUN, Workshop, accepted, change


def test_blame_names_every_accept_the_newest_first(fake_shop: Workshop) -> None:
    fake_shop.fails(5, "blame", "scale")
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    run = (fake_shop.root / "runs/latest").readlink().name
    fake_shop.call("accept", "-m", "three is right")
    lines = fake_shop.call("blame", "scale/n=100").stdout.splitlines()
    assert lines[0] == "scale/n=100"
    assert re.fullmatch(rf"  \S+Z  \S.*  1\.5  from {run}  three is right", lines[1])
    assert re.fullmatch(r"  \S+Z  \S.*  1\.4  from \S+", lines[2])
    (entry,) = json.loads(fake_shop.call("blame", "scale", "--json").stdout)
    assert [accept["why"] for accept in entry["accepts"]] == ["", "three is right"]
