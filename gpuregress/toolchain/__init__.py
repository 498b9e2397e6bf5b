"""Compilation of CUDA C++ to PTX and cubin, cached by content.

`programs.py` has the entries, `compile` and `build`. `nvrtc.py` calls the compiler, `host_code/` removes what only the
host needs, `headers/` has stand-ins for host headers, and `python_kernels/` compiles Triton and Numba.
"""
