"""Commits of a git repository: their names, their files, and runs of their kernels."""
