"""Tests of the tests, and ways to jobs.

Each command has a folder or a module: `mutating/`, `fuzzing/`, `shrinking/`, `auditing/`, `revisions/` (diff, bisect),
`drafts/` (new), `capture/`, `kernel_tuner/`. Their runs that keep nothing begin in `experiment.py`.
"""
