"""Execution of one case on one device: fill, log, launch, read, dump. Compares nothing; start at execution.py."""
