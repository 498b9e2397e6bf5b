"""Records of the places of errors in a buffer."""
