"""Acceptance and rejection of the results of a run."""
