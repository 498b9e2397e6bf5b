"""The record of a run on disk: its folder, journal, results and line in the history, and how long they are kept."""
