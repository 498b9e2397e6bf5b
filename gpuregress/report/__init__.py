"""Reports of a run for people and programs: terminal, HTML, JUnit XML, JSON.

`terminal.py` prints a run, `morning.py` a night, `html/` writes the page, and `formats/` has one module for each format
that another program reads. `case_lines.py` words what they share; `messages/` has the messages of nights.
"""
