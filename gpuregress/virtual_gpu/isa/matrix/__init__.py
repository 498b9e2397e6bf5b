"""Matrix instructions: ldmatrix, mma, wmma."""
