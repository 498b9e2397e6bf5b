"""Machine code: the assembler, what a cubin holds, and the cubins of programs."""
