"""Records of a planned case, with every expression evaluated."""
