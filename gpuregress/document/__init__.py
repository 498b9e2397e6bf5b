"""YAML files that people write: read with the line of every key, and judged in words."""
