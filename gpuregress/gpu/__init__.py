"""Facts that a real GPU and the virtual one share."""
