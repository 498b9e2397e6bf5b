"""Analyses of PTX: control flow, liveness, uniformity, strides, pointer provenance, footprint."""
