"""Names of the baselines of a test, and the test of a session that owns them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest

from gpuregress.pytest_plugin import session_folder

_FORBIDDEN = re.compile(r"[^\w.+=,@-]")
_LONGEST = 120
_OWNERS = pytest.StashKey[dict[Path, str]]()


def of_test(name: str) -> str:
    """Return the file name of a test's baselines: `test_sum[1.5-b]` has `test_sum_1.5-b_`.

    Two tests of a function have two names: a character that a file name should not hold becomes its code, as `%2f`.

    Args:
        name: of pytest's node, with its parameters.
    """
    parts = name.removesuffix("]").split("[", 1)
    function, *parameters = (_FORBIDDEN.sub(lambda match: f"%{ord(match[0]):02x}", part) for part in parts)
    whole = f"{function}_{parameters[0]}_" if parameters else function
    if len(whole.encode()) <= _LONGEST:
        return whole
    return f"{whole.encode()[:_LONGEST].decode(errors='ignore')}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def owner(config: pytest.Config, baselines: Path, test: str) -> str:
    """Return the test of this session that was the first to check some baselines, in whichever process of xdist.

    Args:
        config: of the session.
        baselines: their path, without the arrays' names.
        test: that checks them now; it becomes their owner if there is none.
    """
    known = config.stash.setdefault(_OWNERS, {})
    if baselines not in known:
        is_shared = hasattr(config, "workerinput")
        known[baselines] = _claimed(session_folder.of_session(config), baselines, test) if is_shared else test
    return known[baselines]


def _claimed(folder: Path, baselines: Path, test: str) -> str:
    """The owner among all processes: the one whose file got the common name first."""
    claims = folder / "gpuregress-baselines"
    claims.mkdir(exist_ok=True)
    claim = claims / hashlib.sha256(str(baselines).encode()).hexdigest()
    own = claims / f"{claim.name}.{os.getpid()}"
    own.write_text(test, encoding="utf-8")
    try:
        os.link(own, claim)
    except FileExistsError:
        return claim.read_text(encoding="utf-8")
    finally:
        own.unlink()
    return test
