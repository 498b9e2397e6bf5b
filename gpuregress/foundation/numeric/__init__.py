"""Numbers as bytes, as text, and as distances; bounds on their errors."""
