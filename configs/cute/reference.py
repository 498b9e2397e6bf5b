"""References of the kernels in CuTe DSL."""

import numpy as np


def row_norm(inputs, case):
    """Divide each row by its length."""
    values = inputs["x"].astype(np.float64)
    lengths = np.sqrt((values**2).sum(axis=1, keepdims=True) + 1e-6)
    return (values / lengths).astype(np.float16)
