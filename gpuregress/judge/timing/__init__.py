"""Comparison of times, and of instruction counts, with the accepted ones."""
