"""Parameter spaces: configurations of an autotuner, and agreement of results over parameters."""
