"""Accuracy of a case: errors of its elements, and the source lines where they arise."""
