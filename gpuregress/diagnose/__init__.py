"""Diagnosis of differences: known bug patterns, in words with their evidence. It changes no verdict."""

from gpuregress.diagnose.buffer_image import bins as image_bins
from gpuregress.diagnose.buffer_image import image
from gpuregress.diagnose.buffer_image import value_layers as image_values
from gpuregress.diagnose.difference_sample import DifferenceSample
from gpuregress.diagnose.error_bins import ErrorBins, heat_map, strip
from gpuregress.diagnose.evidence import Evidence
from gpuregress.diagnose.pattern_table import diagnose, thread_label

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
