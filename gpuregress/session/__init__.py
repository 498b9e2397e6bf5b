"""One run, from the request to its results.

`session.py` has the entry, `run`. `workflow.py` is the sequence of its steps: planning, checking, execution, summary.
`runs/` keeps a run on disk, `accepting.py` makes its dumps the baselines, and `nightly.py` is the unattended run.
"""
