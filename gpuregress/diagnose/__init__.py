"""What a difference looks like, in words, with its evidence; changes no verdict."""

from gpuregress.diagnose.evidence import Evidence
from gpuregress.diagnose.profile import Profile, heat_map, profile
from gpuregress.diagnose.table import PATTERNS, coordinates, diagnose, place_of

__all__ = ["PATTERNS", "Evidence", "Profile", "coordinates", "diagnose", "heat_map", "place_of", "profile"]
