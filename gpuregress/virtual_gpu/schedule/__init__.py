"""Schedules of a block's threads: lockstep, passes, vectorised rows."""
