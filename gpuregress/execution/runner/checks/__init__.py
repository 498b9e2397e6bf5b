"""Dynamic checks of a case that runs."""
