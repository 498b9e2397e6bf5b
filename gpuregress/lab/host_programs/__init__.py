"""Abstract interpretation of a program's host code, for its launches with their sizes and values."""
