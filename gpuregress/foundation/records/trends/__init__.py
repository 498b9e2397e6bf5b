"""Records of runs and cases over time."""
