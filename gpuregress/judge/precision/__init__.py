"""Precision of results, beside the comparison by a rule."""
