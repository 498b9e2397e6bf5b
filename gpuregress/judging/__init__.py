"""An outcome held against what is expected of it."""
