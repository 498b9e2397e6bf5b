"""The back end of each command, one module a command."""
