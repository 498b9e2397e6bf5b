"""Tensor maps on the card."""
