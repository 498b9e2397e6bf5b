"""Mutation operators for CUDA C++, on the syntax tree of tree-sitter's grammar."""
