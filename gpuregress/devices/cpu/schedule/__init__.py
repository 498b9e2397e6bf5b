"""How the threads of a block take turns: lockstep, passes, vectorised rows."""
