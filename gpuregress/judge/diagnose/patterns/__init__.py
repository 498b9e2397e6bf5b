"""Detectors of known bug patterns, one module for each kind of evidence."""
