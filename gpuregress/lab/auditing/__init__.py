"""Audit of jobs, one module for each part, within a time budget."""
