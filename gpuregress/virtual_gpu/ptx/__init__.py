"""PTX: lexer, parser, syntax tree, and tables of its types, opcodes and target architectures."""
