"""Processes, devices and hosts that execute cases."""
