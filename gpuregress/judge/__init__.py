"""Judgement of an outcome against its baseline, references and checks.

`judge.py` goes through the buffers of a case, `compare/` compares two of them under a rule, `diagnose/` says what the
difference looks like, and `verdict/decision.py` decides the status and the exit code.
"""
