"""Options that a project's own build compiles a source with: a compilation database, or what its build files say."""
