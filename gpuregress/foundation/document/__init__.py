"""YAML documents with the line of every key, and the messages on their errors."""
