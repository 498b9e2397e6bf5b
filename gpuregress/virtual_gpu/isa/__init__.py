"""Instruction set: one module for each family of instructions, and the dispatch to them."""
