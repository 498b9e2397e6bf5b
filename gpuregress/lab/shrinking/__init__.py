"""Delta debugging of a failing job: smaller numbers, plainer inputs, the same failure."""
