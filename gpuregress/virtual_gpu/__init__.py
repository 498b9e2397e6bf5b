"""The virtual GPU: runs PTX on the host's processor.

`arrays.py` runs a kernel on arrays, and `device.py` is the device of a run. `ptx/` parses, `analysis/` and `schedule/`
decide how threads take turns, `isa/` lowers instructions to LLVM, `runtime/` runs them and words faults, and `checks/`
watches accesses. README.md has an example; `ptx/opcode_table.py` is the table that all passes read.
"""
