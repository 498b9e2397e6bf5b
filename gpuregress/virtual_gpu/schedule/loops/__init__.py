"""Interchange of a thread's loops with the loop over a row of threads."""
