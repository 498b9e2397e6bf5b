"""Record of a run on disk: folder, journal, results, entry in the history, retention."""
