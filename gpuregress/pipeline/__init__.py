"""A run from selectors to verdicts; prints nothing."""

from gpuregress.pipeline.opening import run
from gpuregress.pipeline.request import Machinery, Request

__all__ = ["Machinery", "Request", "run"]
