"""Headers for NVRTC that stand for those of the host, and the names that its own headers use."""
