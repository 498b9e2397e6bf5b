"""Values of higher precision that belong to memory."""
