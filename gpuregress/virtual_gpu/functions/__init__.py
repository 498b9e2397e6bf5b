"""One PTX function to one LLVM function."""
