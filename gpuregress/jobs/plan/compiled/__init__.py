"""Completion of launches by what the compiler of a kernel in Python decided."""
