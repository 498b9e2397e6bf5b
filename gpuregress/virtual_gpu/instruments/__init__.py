"""Instruments of a launch: dynamic checks, exact costs, coverage, values of higher precision."""
