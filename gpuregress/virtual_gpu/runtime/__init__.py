"""Runtime of compiled kernels: device memory, faults, printf, system calls, textures."""
