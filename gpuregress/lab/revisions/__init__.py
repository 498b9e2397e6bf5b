"""Comparison of revisions: their results, and the commits between them."""
