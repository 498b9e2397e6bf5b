"""Dumps: the contents of buffers as text files. Formatting, parsing, reading, writing, comparing two files."""
