"""The instruction set: one module for each instruction family, and the table of opcodes."""
