"""Messages of an unattended run to the world outside, and its installation in schedulers."""
