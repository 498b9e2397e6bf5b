"""Judgement of an outcome against its baseline, references and checks."""
