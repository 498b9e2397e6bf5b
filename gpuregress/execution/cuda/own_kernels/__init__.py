"""Small kernels of our own that run on a card."""
