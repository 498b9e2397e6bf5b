"""Execution of one case on one device: fill, log, launch, read, dump. Compares nothing.

Start at execution.py, `run_case`.
"""
