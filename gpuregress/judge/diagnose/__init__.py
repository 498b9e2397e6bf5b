"""Diagnosis of differences: known bug patterns, in words with their evidence. It changes no verdict."""
