"""Verdicts over the parameters of a job: what failing cases share, and a grid."""

from gpuregress.judge.parameter_spaces.summary import summarize as summarize
