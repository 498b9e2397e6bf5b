"""Commands that make runs, and that show and compare them."""
