"""Compile options of a project's own build."""
