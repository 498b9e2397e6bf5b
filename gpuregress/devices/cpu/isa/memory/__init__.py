"""Instructions that reach memory: loads, stores, atomics, fences, asynchronous copies."""
