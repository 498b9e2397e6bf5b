"""Instructions that compute: integers, floats, conversions, the special-function unit."""
