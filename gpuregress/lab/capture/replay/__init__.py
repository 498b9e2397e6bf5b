"""Replay of captured launches on the CPU device."""
