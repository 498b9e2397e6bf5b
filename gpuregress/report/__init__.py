"""Reports of a run for people and programs: terminal, HTML, JUnit XML, JSON."""
