"""Branches, calls, moves and special registers."""
