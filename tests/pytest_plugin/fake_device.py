"""Plugin of pytest that gives the cases of a session to the fake device."""

from __future__ import annotations

import functools
import sys

from gpuregress.session import session
from gpuregress.session.run_request import Machinery

session.Machinery = functools.partial(  # type: ignore[assignment, misc]  # as tests/conftest.py does
    Machinery, command=(sys.executable, "-m", "tests.fake_worker")
)
