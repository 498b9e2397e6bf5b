"""Mutation operators for PTX, on its instructions."""
