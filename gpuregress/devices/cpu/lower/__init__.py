"""PTX to LLVM IR, one table-driven function an opcode, by family."""
