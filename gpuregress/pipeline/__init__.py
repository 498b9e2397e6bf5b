"""A run from selectors to verdicts; prints nothing."""

from gpuregress.pipeline.steps import Machinery, Request, run

__all__ = ["Machinery", "Request", "run"]
