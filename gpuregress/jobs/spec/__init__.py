"""Job files: their models, the resolution of a case, and their documentation."""
