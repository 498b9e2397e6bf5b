"""Parts of a night: its devices, and the watch over its deadline."""
