"""Fuzzing of a job: inputs at the edges that its cases do not have."""
