"""Comparison of two buffers under a rule: arrays in, `records.Comparison` out; reads no file."""

from __future__ import annotations

from gpuregress.judge.compare.comparators import compare as compare
from gpuregress.judge.compare.comparison_request import ComparisonRequest as ComparisonRequest
from gpuregress.judge.compare.in_order import InOrder as InOrder
from gpuregress.judge.compare.metadata import identical as identical
from gpuregress.judge.compare.metadata import is_in_order as is_in_order
from gpuregress.judge.compare.metadata import mismatch as mismatch
from gpuregress.judge.compare.metadata import needs_all as needs_all
from gpuregress.judge.compare.metadata import needs_array_when_identical as needs_array_when_identical
