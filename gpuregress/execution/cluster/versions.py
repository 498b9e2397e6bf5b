"""Versions that the client and the hosts of a cluster must share.

A host with another version of Python or of gpuregress would compute other results, or fail for reasons of its own. So
it is refused by name. The question is a text, which every Python understands.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gpuregress import __version__
from gpuregress.toolchain.cache import code_digest

QUESTION = (
    "{'python': '%d.%d' % __import__('sys').version_info[:2],"
    " 'gpuregress': getattr(__import__('gpuregress'), '__version__', 'unknown')"
    " if __import__('importlib.util').util.find_spec('gpuregress') else ''}"
)
"""A Python expression that tells the versions of a Dask worker."""


def problem(told: Mapping[str, str]) -> str:
    """Explain why a worker with these versions cannot be used; "" if it can.

    Args:
        told: the value of `QUESTION` there.
    """
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    if told["python"] != python:
        return f"it has Python {told['python']}, and this is Python {python}: they must be equal"
    if not told["gpuregress"]:
        return "gpuregress is not installed there: pip install 'gpuregress[cluster]'"
    if told["gpuregress"] != __version__:
        return f"it has gpuregress {told['gpuregress']}, and this is {__version__}: they must be equal"
    return ""


def code_problem(code: str) -> str:
    """Explain why a worker with this digest of the package's code cannot be used; "" if it can."""
    if code == code_digest():
        return ""
    return f"its gpuregress {__version__} has other code ({code}) than this one ({code_digest()}): install the same"
