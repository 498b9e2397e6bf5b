"""Texture instructions of the CPU device against a card's results."""
