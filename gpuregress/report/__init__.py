"""A run's summary as text for people and machines; judges nothing."""
