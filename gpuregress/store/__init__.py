"""Everything that a project keeps on disk.

`project.py` finds the project, `settings.py` reads its settings, `launch_log.py` writes a launch before it happens,
`dumps/` and `baselines/` keep results, `history/` the verdicts of past runs, and `remote.py` reaches other stores.
"""
