"""Everything that a project keeps on disk."""
