"""Processes, devices and hosts that execute cases.

`workers/pool.py` gives tasks to worker processes, `runner/execution.py` runs one case in such a process, and
`cluster/pool.py` gives tasks to other hosts. `device_registry.py` opens a device by its name; `cuda/` is the GPU.
"""
