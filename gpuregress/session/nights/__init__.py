"""A night on every device, its parts, and the watch over its deadline."""
