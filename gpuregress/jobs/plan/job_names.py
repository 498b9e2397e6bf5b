"""Validation of job names, which are also names of folders."""

from __future__ import annotations

import re

MAX_LENGTH = 100
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_WINDOWS = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)

_OURS = ("baseline.yaml", "cases.yaml")


def job_name_problem(name: str) -> str | None:
    """Explain why a name is not a valid job name; None if it is valid.

    Args:
        name: from the job's `job:`, or its file's name.
    """
    shown = repr(name if len(name) <= 60 else f"{name[:57]}…")
    if "/" in name or "\\" in name or name in (".", ".."):
        return f"{shown} leaves the project: a job's name is also its folder, so it must not hold / or .."
    if len(name) > MAX_LENGTH:
        return f"{shown} has {len(name)} characters; the limit is {MAX_LENGTH}"
    if not _SAFE.fullmatch(name) or name.endswith("."):
        return f"{shown} cannot be a folder: use letters, digits and . _ + -, with a letter, digit or _ first"
    if name.lower() in _OURS:
        return f"{shown} is the name of a file of gpuregress among the baselines: choose another"
    if _WINDOWS.fullmatch(name):
        return f"{shown} is a device's name on Windows: choose another"
    return None
