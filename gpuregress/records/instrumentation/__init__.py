"""Records of instrumented runs: what was asked for, and what was found and counted."""
