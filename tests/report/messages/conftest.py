"""Servers of the tests on messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.messages import servers


@pytest.fixture
def server() -> Iterator[servers.Server]:
    with servers.serving() as server:
        yield server
