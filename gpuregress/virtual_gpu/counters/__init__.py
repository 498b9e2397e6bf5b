"""Counters of instrumented code: executions of basic blocks, branches, loops and bounds."""
