"""Facts that a real GPU and the virtual one share.

`base.py` has the protocols of devices, modules and memory, `programs.py` what is loaded, `limits.py` what a launch may
ask for, `instruments.py` what a launch reports, `errors.py` the faults.
"""
