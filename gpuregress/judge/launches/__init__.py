"""Search for the first wrong launch of a case."""
