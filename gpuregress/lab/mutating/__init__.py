"""Runs of mutants: the subject, its mutated programs, the trials, and the cache of their results."""
