"""Capture of kernel launches from a running application: injection library, records, jobs."""
