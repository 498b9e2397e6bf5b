"""Shadow cells: what is kept of the accesses to a granule of memory, and which of them race."""
