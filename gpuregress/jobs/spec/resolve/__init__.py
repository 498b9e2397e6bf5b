"""Resolution of a job for one case: expressions become numbers, paths become absolute."""
