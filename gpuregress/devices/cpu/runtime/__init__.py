"""What compiled kernels run in: device memory, faults, printf, system calls, textures."""
