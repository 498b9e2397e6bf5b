"""Records, documents, files and numbers that every room uses.

`records/` has what rooms hand to each other, `errors.py` the errors with their exit codes, `storage/` files that a
kill leaves whole, `document/` YAML with line numbers, and `numeric/` floating-point formats.
"""
