"""LLVM IR primitives that every instruction family builds with."""
