"""Tests of the tests, and ways to jobs."""
