"""Audit of jobs: one module for each part, the grades, and the order in which the parts share a budget."""
