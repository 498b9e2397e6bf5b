"""Heap of kernels: the memory behind `malloc`, `free`, `new` and `delete`."""
