"""Blocks that are in memory together: of cooperative grids, of clusters, of kernels that spin."""
