"""A regression harness for CUDA kernels that also runs, bit for bit, where there is no GPU."""

__version__ = "0.1.0"
