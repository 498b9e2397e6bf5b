"""Jobs: the job file, the cases that it plans, their inputs."""
