"""A kernel, a module, and the cache of object code."""
