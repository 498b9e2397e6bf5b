"""Analyses of a program for the dynamic checks: what need not be watched, and how the rest is."""
