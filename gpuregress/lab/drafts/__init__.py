"""Texts of drafted jobs for kernels: from the declaration alone, and from a launch in host code."""
