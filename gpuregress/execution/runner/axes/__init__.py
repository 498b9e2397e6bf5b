"""Axes of further runs: each module runs a case once more, with one thing other than in its first run."""
