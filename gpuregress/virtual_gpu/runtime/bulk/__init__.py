"""Bulk copies: the tensor memory accelerator of the virtual GPU, in Python."""
