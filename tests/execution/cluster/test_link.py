from __future__ import annotations

import contextlib
import select
import sys
from pathlib import Path

import pytest

from gpuregress.execution.cluster.link import ClusterLink, ClusterLost, LinkEvent


def first_event(link: ClusterLink) -> LinkEvent:
    assert select.select([link], [], [], 30)[0]
    return link.events()[0]


def test_a_scheduler_that_does_not_answer_is_an_event(tmp_path: Path) -> None:
    with contextlib.closing(ClusterLink("tcp://127.0.0.1:9", "run", 0.2, tmp_path)) as link:
        event = first_event(link)
        assert link.events() == []
    assert isinstance(event, ClusterLost)
    assert event.why.startswith("no Dask scheduler answers at tcp://127.0.0.1:9 within 0.2 s")
    assert "\n" not in event.why


def test_an_address_that_means_nothing_is_an_event(tmp_path: Path) -> None:
    with contextlib.closing(ClusterLink("pigeon://roof:1", "run", 0.2, tmp_path)) as link:
        event = first_event(link)
    assert isinstance(event, ClusterLost)
    assert "cannot connect to the Dask scheduler at pigeon://roof:1" in event.why


def test_without_dask_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with contextlib.closing(ClusterLink("tcp://127.0.0.1:9", "run", 0.2, tmp_path)) as link:
        event = first_event(link)
    assert event == ClusterLost("a cluster needs Dask: pip install 'gpuregress[cluster]'")


def test_a_link_closes_while_it_connects(tmp_path: Path) -> None:
    link = ClusterLink("tcp://10.255.255.1:8786", "run", 60.0, tmp_path)
    link.close()
    assert not link._thread.is_alive()
