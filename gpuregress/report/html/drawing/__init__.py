"""Drawings of the page as inline SVG: pictures of buffers, plots, trends."""
