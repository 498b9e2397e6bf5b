"""Plans of single jobs before their cases carry revisions."""
