"""Compilation of a run's sources: each distinct one once, a few cases ahead of the workers."""
