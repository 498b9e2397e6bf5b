"""JSON Schema and Markdown reference of the job file, generated from its models."""
