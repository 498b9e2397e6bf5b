"""Commands on a project's jobs and cases, before anything runs."""
