"""Kernels with one planted error each, and a clean twin: what the dynamic checks are measured by."""
