"""Twins of a case: its results on another device or on the host, and the causes of differences."""
