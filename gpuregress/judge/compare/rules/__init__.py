"""Rules of a comparison: the bound of an element, its violations, its interval, its text."""
