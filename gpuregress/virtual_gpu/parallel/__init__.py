"""Partition of a launch over cores: affine expressions, constraints, dependence test."""
