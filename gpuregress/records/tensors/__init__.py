"""Records of tensors in global memory."""
