"""Arithmetic instructions: integers, floats, conversions, the special-function unit."""
