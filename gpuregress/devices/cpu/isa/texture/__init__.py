"""Texture and surface instructions."""
