"""Models of a job file, one for each mapping that it may hold."""
