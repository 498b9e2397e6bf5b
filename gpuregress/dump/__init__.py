"""Dumps: a buffer's contents as text. Header, names, writing, reading, and walking two of them side by side."""
