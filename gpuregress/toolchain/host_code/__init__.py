"""Host code of CUDA C++ sources: read for its launches, and blanked before NVRTC compiles the rest."""
