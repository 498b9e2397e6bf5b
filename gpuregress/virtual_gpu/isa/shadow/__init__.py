"""Shadow values: registers and elements of memory in higher precision beside the real ones."""
