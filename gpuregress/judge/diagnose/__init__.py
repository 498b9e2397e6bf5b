"""Diagnosis of differences: known bug patterns, in words with their evidence. It changes no verdict."""

from gpuregress.judge.diagnose.buffer_image import ErrorBins, heat_map, image, strip
from gpuregress.judge.diagnose.buffer_image import bins as image_bins
from gpuregress.judge.diagnose.buffer_image import value_layers as image_values
from gpuregress.judge.diagnose.evidence import DifferenceSample, Evidence
from gpuregress.judge.diagnose.pattern_table import diagnose, thread_label

__all__ = [
    "DifferenceSample",
    "ErrorBins",
    "Evidence",
    "diagnose",
    "heat_map",
    "image",
    "image_bins",
    "image_values",
    "strip",
    "thread_label",
]
