"""Dynamic checks at run time: shadow memory, and the findings in words."""
