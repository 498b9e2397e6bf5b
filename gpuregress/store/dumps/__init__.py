"""Dumps: the contents of buffers as text files."""
