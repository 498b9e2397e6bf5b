"""Comparison of a night with the nights before it: pure, records in and records out."""

from gpuregress.nightly.causes import cause_of as cause_of
from gpuregress.nightly.causes import extent_of as extent_of
from gpuregress.nightly.changes import EarlierNights as EarlierNights
from gpuregress.nightly.changes import LeftOut as LeftOut
from gpuregress.nightly.changes import compare_nights as compare_nights
from gpuregress.nightly.order import ordered as ordered
