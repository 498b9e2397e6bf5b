"""Dependence between the lanes of a warp: symbolic values, distances, the dependence test."""
