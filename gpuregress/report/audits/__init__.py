"""The report of an audit, as text and as a page."""
