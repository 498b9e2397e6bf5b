"""Device functions as units of a test: declarations, overloads, and the kernel that calls one."""
