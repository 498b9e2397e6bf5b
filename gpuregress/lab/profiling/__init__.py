"""Exact costs of cases, for `profile`."""
