"""Whole CUDA programs on the virtual GPU: a driver library, and the server process behind it."""
