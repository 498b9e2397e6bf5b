"""Comparison in any order: multisets of scalars, matchings of records."""
