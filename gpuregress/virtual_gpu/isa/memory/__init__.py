"""Memory instructions: loads, stores, atomics, fences, asynchronous copies."""
