"""What a difference looks like, in words, with its evidence; changes no verdict."""

from gpuregress.diagnose.evidence import Evidence
from gpuregress.diagnose.profile import Bins, Profile, heat_map, strip
from gpuregress.diagnose.sample import Sample
from gpuregress.diagnose.table import PATTERNS, coordinates, diagnose, place_of

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
