"""A run from selectors to verdicts."""
