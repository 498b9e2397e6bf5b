"""Counters of instrumented code: what each one counts, and the coverage that comes of it."""
