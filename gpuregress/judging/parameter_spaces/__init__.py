"""Verdicts over the parameters of a job: what failing cases share, and a grid."""

from gpuregress.judging.parameter_spaces.summary import summarize as summarize
