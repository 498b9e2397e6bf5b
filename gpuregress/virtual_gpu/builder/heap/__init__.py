"""IR of the kernels' heap."""
