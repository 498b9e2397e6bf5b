"""Jobs: the job file, the cases that it plans, their inputs.

`spec/load.py` reads and checks a file, `spec/models/` has its keys, and `spec/resolve/` works out their values.
`plan/` makes the cases of a project (`plan.make`), and `inputs/` fills their buffers. A new key is described in
CONTRIBUTING.md.
"""
