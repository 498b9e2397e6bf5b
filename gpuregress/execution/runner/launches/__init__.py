"""Observation of the launches of a case while they run."""
