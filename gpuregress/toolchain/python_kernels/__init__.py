"""Compilers of kernels that are written in Python: Triton, Numba, and functions that return PTX."""
