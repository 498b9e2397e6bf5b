"""Mutation of kernels: one small change at a time, in ways in which GPU code goes wrong; pure text."""
