"""Python API: kernels called with arrays, and jobs run as `gpuregress run` runs them.

`gpuregress` itself exports the public names; see docs/reference/python.md.
"""
