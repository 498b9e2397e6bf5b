"""Comparison of a night with the nights before it: pure, records in and records out."""

from gpuregress.judge.nights.causes import cause_of as cause_of
from gpuregress.judge.nights.causes import extent_of as extent_of
from gpuregress.judge.nights.changes import EarlierNights as EarlierNights
from gpuregress.judge.nights.changes import LeftOut as LeftOut
from gpuregress.judge.nights.changes import compare_nights as compare_nights
from gpuregress.judge.nights.order import ordered as ordered
