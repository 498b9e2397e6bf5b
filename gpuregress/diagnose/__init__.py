"""What a difference looks like, in words, with its evidence; changes no verdict."""

from gpuregress.diagnose.difference_sample import Sample
from gpuregress.diagnose.error_bins import Bins, Profile, heat_map, strip
from gpuregress.diagnose.evidence import Evidence
from gpuregress.diagnose.pattern_table import PATTERNS, coordinates, diagnose, place_of

__all__ = [
    "PATTERNS",
    "Bins",
    "Evidence",
    "Profile",
    "Sample",
    "coordinates",
    "diagnose",
    "heat_map",
    "place_of",
    "strip",
]
