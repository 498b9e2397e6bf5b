"""Records, documents, files and numbers that every room uses."""
