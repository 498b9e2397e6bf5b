"""What compiled kernels run in: memory, threads, faults, printf."""
