"""Plugin of pytest that gives the cases of a session to the fake device."""

from __future__ import annotations

import sys

from gpuregress.session import session
from gpuregress.session.run_request import Machinery

session.MACHINERY = Machinery((sys.executable, "-m", "tests.fake_worker"))  # as tests/conftest.py does
