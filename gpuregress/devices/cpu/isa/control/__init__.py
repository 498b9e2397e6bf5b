"""Branches, calls and special registers."""
