"""A run from selectors to verdicts; prints nothing."""

from gpuregress.pipeline.opening import opened, run
from gpuregress.pipeline.request import Machinery, Request

__all__ = ["Machinery", "Request", "opened", "run"]
