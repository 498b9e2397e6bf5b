"""Statistics of the differences between two buffers: counts, worst elements, error norms."""
