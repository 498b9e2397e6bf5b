"""Compilation of CUDA C++ to PTX and cubin, cached by content."""
